import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { type Browser, firstForm, type Page } from '../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { otherAddressesOn, visibleText } from '../../support/page-content.js'
import { openConsent, postForm, signOut } from '../../support/pages.js'
import { deleteRow, disable, enable } from '../../support/tokens.js'

const OWN = { origin: ISSUER, 'sec-fetch-site': 'same-origin' }
const ALLOW = { decision: 'allow' }

let server: TestServer
let client: Credentials
let aliceId: string

beforeAll(async () => {
  server = await startTestServer()
  aliceId = await server.createUser('alice', PASSWORD)
  await server.createUser('bob', PASSWORD)
})
beforeEach(async () => {
  client = await server.createClient()
})
afterAll(() => server.close())

const pathOf = (page: Page) => new URL(page.url).pathname
const isConsent = (page: Page) => page.statusCode === 200 && pathOf(page) === '/consent'

function codesIn(answers: readonly LightMyRequestResponse[]): string[] {
  return answers.flatMap(({ headers }) => String(headers.location).match(/vk_ac_\w+/g) ?? [])
}

async function countGrants(): Promise<number> {
  const text = 'select 1 from grants where client_id = $1'
  return (await server.database.query({ name: 'count_grants', text, values: [client.clientId] })).length
}

/** The second form of the consent page. */
function otherAccountForm(page: Page): Page {
  const [, form = ''] = page.body.split('<form id="switch"')
  return { ...page, body: `<form${form}` } as Page
}

async function useAnotherAccount(browser: Browser, page: Page): Promise<Page> {
  return browser.submit(otherAccountForm(page), {})
}

describe('a request is decided once', () => {
  test('20 concurrent forms: one grant, and the same code for all', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const answers = await Promise.all(Array.from({ length: 20 }, () => postForm(server, browser, page, ALLOW, OWN)))
    expect(new Set(codesIn(answers)).size).toBe(1)
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(303))
    const [code = ''] = codesIn(answers)
    expect((await exchange(server, client, code)).statusCode).toBe(200)
    expect(await countGrants()).toBe(1)
  })

  test.each([
    ['Allow after Deny', 'deny', 'allow'],
    ['Deny after Allow', 'allow', 'deny']
  ])('%s: the user is asked again, and nothing changes', async (_name, first, second) => {
    const { browser, page } = await openConsent(server, client.clientId)
    const decided = responseParameters(await browser.submitOnly(page, { decision: first }))
    expect(isConsent(await browser.submit(page, { decision: second }))).toBe(true)
    if (decided.code) expect((await exchange(server, client, decided.code)).statusCode).toBe(200)
    expect(await countGrants()).toBe(first === 'allow' ? 1 : 0)
  })

  test('reload of the page after Allow: the user is asked again', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const { code = '' } = responseParameters(await browser.submitOnly(page, ALLOW))
    expect(isConsent(await browser.open(page.url))).toBe(true)
    expect((await exchange(server, client, code)).statusCode).toBe(200)
    expect(await countGrants()).toBe(1)
  })
})

describe('a form is valid only in the session that it was shown in', () => {
  test('after signing out: the sign-in page, and no code', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    await signOut(browser)
    expect(pathOf(await browser.submit(page, ALLOW))).toBe('/login')
    expect(await countGrants()).toBe(0)
  })

  test('after another user signed in: that user is asked', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const login = await useAnotherAccount(browser, page)
    await browser.submit(login, { username: 'bob', password: PASSWORD })
    const asked = await browser.submit(page, ALLOW)
    expect(visibleText(asked.body)).toContain('Signed in as bob Use another account')
    expect(await countGrants()).toBe(0)
  })

  test('after the same user signed out and in again: the page is shown again', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const login = await useAnotherAccount(browser, page)
    await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(isConsent(await browser.submit(page, ALLOW))).toBe(true)
    expect(await countGrants()).toBe(0)
  })

  test.each([
    { sent: undefined, passed: 'login' },
    { sent: 'consent', passed: 'consent login' },
    { sent: 'login', passed: 'login' }
  ])('Use another account asks providers for a new sign-in, also with prompt $sent', async ({ sent, passed }) => {
    const { browser, page } = await openConsent(server, client.clientId)
    const own = sent === undefined ? page : await browser.open(authorizeUrl(client.clientId, { prompt: sent }))
    const asked = own.body.includes('id="password"')
      ? await browser.submit(own, { username: 'alice', password: PASSWORD })
      : own
    const action = new URL(firstForm(otherAccountForm(asked).body).action)
    const { prompt, ...others } = Object.fromEntries(action.searchParams)
    expect([action.pathname, prompt]).toEqual(['/logout', passed])
    expect(others).toEqual(Object.fromEntries(new URL(authorizeUrl(client.clientId)).searchParams))
  })

  test('Use another account signs out and keeps the request', async () => {
    const { browser, page } = await openConsent(server, client.clientId, { change: { state: 'kept' } })
    expect(page.body).toContain('<button class="link" type="submit" form="switch">')
    const login = await useAnotherAccount(browser, page)
    expect(pathOf(login)).toBe('/login')
    expect(browser.cookies.has(COOKIES.session)).toBe(false)
    const consent = await browser.submit(login, { username: 'bob', password: PASSWORD })
    expect(visibleText(consent.body)).toContain('Signed in as bob Use another account')
    const answer = await browser.submitOnly(consent, ALLOW)
    expect(responseParameters(answer)).toMatchObject({ code: expect.any(String), state: 'kept' })
  })
})

describe('changes between the page and Allow take effect', () => {
  const update = async (set: string, value: unknown) =>
    server.database.query({
      name: `update ${set}`,
      text: `update clients set ${set} = $2 where client_id = $1`,
      values: [client.clientId, value]
    })

  test.each<{ name: string; change: () => Promise<unknown>; title: string }>([
    {
      name: 'the client was disabled',
      change: () => disable(server, 'client', client.clientId),
      title: 'This app is not known here'
    },
    {
      name: 'the client was deleted',
      change: () => deleteRow(server, 'client', client.clientId),
      title: 'This app is not known here'
    },
    {
      name: 'the redirect URI was removed from the registration',
      change: () => update('redirect_uris', ['https://app.example/other']),
      title: 'This app sent a wrong return address'
    }
  ])('$name: an error page without a link to the app', async ({ change, title }) => {
    const { browser, page } = await openConsent(server, client.clientId)
    await change()
    for (const ended of [await browser.submit(page, ALLOW), await browser.open(page.url)]) {
      expect([ended.statusCode, pathOf(ended)]).toEqual([400, '/oauth/authorize'])
      expect(visibleText(ended.body)).toContain(title)
      expect(otherAddressesOn(ended.body)).toEqual([])
    }
    expect(await countGrants()).toBe(0)
  })

  test.each<{ name: string; change: () => Promise<unknown>; error: string }>([
    {
      name: 'the scope is no longer allowed',
      change: () => update('required_scopes', ['files.read:images']),
      error: 'invalid_scope'
    },
    { name: 'the client must now use PKCE', change: () => update('requires_pkce', true), error: 'invalid_request' }
  ])('$name: redirect with $error', async ({ change, error }) => {
    const { browser, page } = await openConsent(server, client.clientId)
    await change()
    const answer = await browser.submit(page, ALLOW)
    expect(responseParameters(answer)).toMatchObject({ error, state: 'a state', iss: ISSUER })
    expect(await countGrants()).toBe(0)
  })

  test('the user was disabled: the sign-in page, and no grant', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    await disable(server, 'user', aliceId)
    expect(pathOf(await browser.submit(page, ALLOW))).toBe('/login')
    await enable(server, 'user', aliceId)
    expect(await countGrants()).toBe(0)
  })

  test('the name of the client was changed: the page shows the new one', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    await update('name', 'Renamed')
    expect(visibleText((await browser.open(page.url)).body)).toContain('Allow Renamed?')
  })
})
