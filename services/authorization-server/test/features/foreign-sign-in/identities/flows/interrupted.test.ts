import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createIdentityStore } from '../../../../../src/features/foreign-sign-in/identities/identity-store.js'
import { COOKIES, ISSUER, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import type { Browser, Page } from '../../../../support/browser.js'
import { stopClock } from '../../../../support/clock.js'
import { runCommand } from '../../../../support/command-line.js'
import { PASSWORD } from '../../../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../../../support/forging-provider.js'
import * as handoff from '../../../../support/handoff.js'
import { addressesOn } from '../../../../support/page-content.js'
import { signedInBrowser } from '../../../../support/pages.js'
import {
  callbackUrl,
  depart,
  providerSetting,
  providersSetting,
  usernames
} from '../../../../support/provider-sign-in.js'

const ACCOUNT_LINK = `${ISSUER}/account-link`
const SIGN_INS = `${ISSUER}/account/sign-ins`
const STAFF = { groups: ['staff'] }

let provider: ForgingProvider
let server: TestServer
let count = 0
let username = ''
let userId = ''
let subject = ''

beforeAll(async () => {
  provider = await startForgingProvider()
  server = await startTestServer({
    ...handoff.HANDOFF,
    LOGIN_HANDOFF_PROVISIONING: 'create',
    ...providersSetting(providerSetting(provider, { require: STAFF }))
  })
})
beforeEach(async () => {
  count += 1
  username = `bob-${count}`
  subject = `person-${count}`
  userId = await server.createUser(username, PASSWORD)
})
afterEach(() => provider.answers({}))
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

/** A browser that has opened the link of an invitation. */
async function invited(): Promise<{ browser: Browser; query: string }> {
  const { out } = await runCommand(server.database, ['users', 'invite', username, '--json'], {
    environment: { ISSUER }
  })
  const { url } = JSON.parse(out)
  const browser = server.newBrowser()
  await browser.open(url)
  return { browser, query: `purpose=invitation&token=${new URL(url).searchParams.get('token')}` }
}

/** Returns where the buttons of the page lead. */
const buttons = ({ body }: Page) =>
  [...body.matchAll(/<a class="button[^>]*href="([^"]*)"/g)].map(([, url = '']) => url.replaceAll('&#x3D;', '='))

/** Comes back from the provider with an authenticated person. */
async function returnFrom({ browser, query }: { browser: Browser; query: string }, claims = {}) {
  const { state, nonce } = await depart(browser, query)
  provider.signs({ claims: { nonce, sub: subject, ...STAFF, ...claims } })
  return browser.open(callbackUrl({ code: 'a code', state }))
}

const identities = () => createIdentityStore(server.database).list(userId)

/** Goes on from the page of the invitation, and links the identity to the account. */
async function accept(browser: Browser, page: Page): Promise<void> {
  expect(page.url).toBe(ACCOUNT_LINK)
  const before = await usernames(server)
  const start = addressesOn(page.body).find((address) => address.includes('/login/with/forger?')) ?? ''
  const query = new URL(start.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=')).search.slice(1)
  const question = await returnFrom({ browser, query })
  expect((await browser.submit(question, {})).url).toBe(SIGN_INS)
  expect(await identities()).toMatchObject([{ subject }])
  expect(await usernames(server)).toEqual(before)
}

type Interruption = (from: { browser: Browser; query: string }) => Promise<Page>

const stopAtProvider: Interruption = async ({ browser, query }) => {
  const { state } = await depart(browser, query)
  return browser.open(callbackUrl({ error: 'access_denied', state }))
}
const reloadCallback: Interruption = async ({ browser, query }) => {
  const { state, nonce } = await depart(browser, query)
  provider.signs({ claims: { nonce, sub: subject, ...STAFF } })
  await browser.get(callbackUrl({ code: 'a code', state }))
  return browser.open(callbackUrl({ code: 'a code', state }))
}
const returnLate: Interruption = async ({ browser, query }) => {
  const clock = stopClock()
  try {
    const { state } = await depart(browser, query)
    clock.advance(601)
    return await browser.open(callbackUrl({ code: 'a code', state }))
  } finally {
    clock.restart()
  }
}
const startHandoff = async ({ browser, query }: { browser: Browser; query: string }) =>
  handoff.requestIdOf(await handoff.startHandoff(browser, `${ISSUER}/login/handoff?${query}`))
const stopAtLoginPage: Interruption = async (from) => {
  const id = await startHandoff(from)
  return from.browser.open(`${ISSUER}/login/handoff/callback?request=${id}&error=access_denied`)
}
const doubleClickAtLoginPage: Interruption = async (from) => {
  const assertion = await handoff.signAssertion({ nonce: await startHandoff(from), sub: subject })
  await from.browser.get(handoff.callbackUrl(assertion))
  return from.browser.open(handoff.callbackUrl(assertion))
}
const returnLateFromLoginPage: Interruption = async (from) => {
  const nonce = await startHandoff(from)
  const assertion = { sub: subject, nonce }
  const issuedAt = Math.floor(Date.now() / 1000) - 100
  return from.browser.open(handoff.callbackUrl(await handoff.signAssertion(assertion, { issuedAt })))
}

describe('an invitation', () => {
  test.each<{ name: string; interrupt: Interruption; status: number }>([
    { name: 'stopped at the provider', interrupt: stopAtProvider, status: 403 },
    {
      name: 'whose provider is unavailable',
      interrupt: (from) => {
        provider.answers({ '/token': { status: 503 } })
        return returnFrom(from)
      },
      status: 503
    },
    { name: 'refused by the gate', interrupt: (from) => returnFrom(from, { groups: [] }), status: 403 },
    {
      name: 'with an identity that is linked elsewhere',
      interrupt: async (from) => {
        const other = await server.createUser(`${username}-other`, PASSWORD)
        await handoff.insertIdentity(server, other, `${subject}-other`, provider.issuer)
        return returnFrom(from, { sub: `${subject}-other` })
      },
      status: 403
    }
  ])('$name offers only the page of the invitation, where it can be accepted', async ({ interrupt, status }) => {
    const from = await invited()
    const page = await interrupt(from)
    expect([page.statusCode, buttons(page)]).toEqual([status, [ACCOUNT_LINK]])
    provider.answers({})
    await accept(from.browser, await from.browser.open(ACCOUNT_LINK))
  })

  test.each<{ name: string; interrupt: Interruption }>([
    { name: 'whose callback is reloaded', interrupt: reloadCallback },
    { name: 'whose person returns from the provider too late', interrupt: returnLate },
    { name: 'stopped at the login page', interrupt: stopAtLoginPage },
    { name: 'sent twice by the login page', interrupt: doubleClickAtLoginPage },
    { name: 'whose assertion is expired', interrupt: returnLateFromLoginPage }
  ])('$name returns to its page, where it can be accepted', async ({ interrupt }) => {
    const from = await invited()
    await accept(from.browser, await interrupt(from))
  })

  test('whose question is cancelled returns to its page, where it can be accepted', async () => {
    const from = await invited()
    const [cancel = ''] = buttons(await returnFrom(from))
    await accept(from.browser, await from.browser.open(cancel))
  })

  test('whose question is answered too late returns to its page, where it can be accepted', async () => {
    const from = await invited()
    const question = await returnFrom(from)
    const clock = stopClock()
    clock.advance(601)
    const page = await from.browser.submit(question, {}).finally(() => clock.restart())
    await accept(from.browser, page)
  })

  test('whose identity was linked elsewhere before the answer offers only the page of the invitation', async () => {
    const from = await invited()
    const question = await returnFrom(from)
    const other = await server.createUser(`${username}-other`, PASSWORD)
    await handoff.insertIdentity(server, other, subject, provider.issuer)
    expect(buttons(await from.browser.submit(question, {}))).toEqual([ACCOUNT_LINK])
  })

  test('sent again by the login page after it was accepted leads to the ways of the account', async () => {
    const from = await invited()
    const assertion = await handoff.signAssertion({ nonce: await startHandoff(from), sub: subject })
    await from.browser.submit(await from.browser.open(handoff.callbackUrl(assertion)), {})
    expect(from.browser.cookies.has(COOKIES.accountLink)).toBe(false)
    expect((await from.browser.open(handoff.callbackUrl(assertion))).url).toBe(SIGN_INS)
  })
})

describe('linking by a signed-in user', () => {
  const linking = async () => ({ browser: await signedInBrowser(server, username), query: 'purpose=link' })

  test('that was stopped at the provider offers only the ways of the account', async () => {
    const page = await stopAtProvider(await linking())
    expect([page.statusCode, buttons(page)]).toEqual([403, [SIGN_INS]])
  })

  test('with an identity that is linked elsewhere offers only the ways of the account', async () => {
    const other = await server.createUser(`${username}-other`, PASSWORD)
    await handoff.insertIdentity(server, other, subject, provider.issuer)
    const now = Math.floor(Date.now() / 1000)
    expect(buttons(await returnFrom(await linking(), { auth_time: now }))).toEqual([SIGN_INS])
  })

  test.each<{ name: string; interrupt: Interruption }>([
    { name: 'whose callback is reloaded', interrupt: reloadCallback },
    { name: 'whose user returns from the provider too late', interrupt: returnLate },
    { name: 'sent twice by the login page', interrupt: doubleClickAtLoginPage },
    { name: 'whose assertion is expired', interrupt: returnLateFromLoginPage }
  ])('$name returns to the ways of the account', async ({ interrupt }) => {
    expect((await interrupt(await linking())).url).toBe(SIGN_INS)
  })
})
