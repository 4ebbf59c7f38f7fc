import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { collectAuditLog } from '../../support/audit-log.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { type ForgingProvider, startForgingProvider } from '../../support/forging-provider.js'
import {
  callbackUrl as assertionUrl,
  HANDOFF,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../support/handoff.js'
import { openConsent, signedInBrowser } from '../../support/pages.js'
import { callbackUrl, depart, providerSetting, providersSetting } from '../../support/provider-sign-in.js'
import { formPaths, registeredRoutes } from '../../support/registered-routes.js'

const log = collectAuditLog()
let server: TestServer
let provider: ForgingProvider
let client: Credentials
let clock: ReturnType<typeof stopClock>

beforeAll(async () => {
  provider = await startForgingProvider()
  const settings = { ...HANDOFF, ...providersSetting(providerSetting(provider)), DEVELOPER_APPS: 'approved' }
  server = await startTestServer(settings, log.logger)
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
beforeEach(() => {
  clock = stopClock()
})
afterEach(async () => {
  clock.restart()
  await server.redis.flushdb()
  await server.database.query({ name: '', text: 'delete from sessions', values: [] })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

/** The reasons in the audit log under the request id of the response. */
const reasonsOf = (answer: Page) => log.eventsOf(answer).map(({ event, reason }) => [event, reason])

async function confirmedLater(): Promise<Browser> {
  const browser = await signedInBrowser(server)
  clock.advance(400)
  return browser
}

describe('a response of a provider that leads back has its reason', () => {
  test('that arrives again: used_state', async () => {
    const browser = server.newBrowser()
    const { state } = await depart(browser)
    const url = callbackUrl({ error: 'access_denied', state })
    await browser.get(url)
    expect(reasonsOf(await browser.get(url))).toEqual([['sign_in_failed', 'used_state']])
  })

  test('that arrives after 10 minutes: expired_state', async () => {
    const browser = server.newBrowser()
    const { state } = await depart(browser)
    clock.advance(600)
    const answer = await browser.get(callbackUrl({ code: 'a code', state }))
    expect([answer.statusCode, reasonsOf(answer)]).toEqual([303, [['sign_in_failed', 'expired_state']]])
  })
})

describe('a response of the login page that leads back has its reason', () => {
  test.each([
    { name: 'whose request is 15 minutes old', seconds: 900, early: false, reason: 'handoff_expired_request' },
    { name: 'whose assertion has expired', seconds: 90, early: true, reason: 'handoff_expired_assertion' }
  ])('$name: $reason', async ({ seconds, early, reason }) => {
    const browser = server.newBrowser()
    const nonce = requestIdOf(await startHandoff(browser))
    const issuedAt = Math.floor(Date.now() / 1000)
    clock.advance(seconds)
    const assertion = await signAssertion({ nonce }, early ? { issuedAt } : {})
    const answer = await browser.get(assertionUrl(assertion))
    expect([answer.statusCode, reasonsOf(answer)]).toEqual([303, [['sign_in_failed', reason]]])
  })

  test('to link an identity, again or stopped by the user', async () => {
    const browser = await signedInBrowser(server)
    const nonce = requestIdOf(await startHandoff(browser, `${ISSUER}/login/handoff?purpose=link`))
    const stopped = await browser.get(`${ISSUER}/login/handoff/callback?request=${nonce}&error=access_denied`)
    expect([stopped.statusCode, reasonsOf(stopped)]).toEqual([303, [['sign_in_failed', 'handoff_stopped']]])
    const again = await browser.get(assertionUrl(await signAssertion({ nonce })))
    expect([again.statusCode, reasonsOf(again)]).toEqual([303, [['sign_in_failed', 'handoff_assertion_reused']]])
  })
})

describe('a form that leads back has its reason', () => {
  test('of another session, for every form', async () => {
    const browser = await signedInBrowser(server)
    const forms = formPaths(server)
    expect(forms).toEqual(expect.arrayContaining(['/login', '/logout', '/consent', '/account/apps/end']))
    for (const path of forms) {
      const page = { body: `<form method="post" action="${ISSUER}${path}"></form>`, url: ISSUER } as Page
      const answer = await browser.submitOnly(page, { csrf_token: 'of another session' })
      expect([path, reasonsOf(answer)]).toEqual([path, expect.arrayContaining([['step_refused', 'stale_form']])])
    }
  })

  test('without our cookie', async () => {
    const browser = server.newBrowser()
    const page = await browser.open(authorizeUrl(client.clientId))
    browser.cookies.clear()
    const answer = await browser.submitOnly(page, { username: 'alice', password: PASSWORD })
    expect(reasonsOf(answer)).toEqual([['step_refused', 'no_cookie']])
  })

  test('of a change that needs a fresh sign-in', async () => {
    const browser = await confirmedLater()
    const answer = await browser.get(`${ISSUER}/login/handoff?purpose=link`)
    expect([answer.headers.location, reasonsOf(answer)]).toEqual([
      `${ISSUER}/login?page=sign-ins`,
      [['step_refused', 'sign_in_too_old']]
    ])
  })

  test('of a proposal to link that is over', async () => {
    const browser = await signedInBrowser(server)
    expect(reasonsOf(await browser.get(`${ISSUER}/login/link?proposal=x`))).toEqual([['identity_refused', 'link_over']])
  })
})

describe('the consent page that leads back has its reason', () => {
  const consentOf = async () => openConsent(server, client.clientId)

  test('of a pending request that was decided', async () => {
    const { browser, page } = await consentOf()
    await browser.submitOnly(page, { decision: 'deny' })
    expect(reasonsOf(await browser.get(page.url))).toEqual([['step_refused', 'not_pending']])
  })

  test('of a form without a decision', async () => {
    const { browser, page } = await consentOf()
    expect(reasonsOf(await browser.submitOnly(page, {}))).toEqual([['step_refused', 'no_decision']])
  })

  test('of a question that has changed', async () => {
    const { browser, page } = await consentOf()
    const answer = await browser.submitOnly(page, { decision: 'allow', question: 'another' })
    expect(reasonsOf(answer)).toEqual([['step_refused', 'question_changed']])
  })

  test('without a session', async () => {
    const { browser, page } = await consentOf()
    browser.cookies.delete(COOKIES.session)
    expect(reasonsOf(await browser.get(page.url))).toEqual([['step_refused', 'not_signed_in']])
  })
})

describe('a session that does not count has its reason', () => {
  /** Pages of the account: without a session, they lead to the sign-in page. */
  async function accountPages(): Promise<string[]> {
    const paths = registeredRoutes(server)
      .filter(({ method, path }) => method === 'GET' && path.startsWith('/account/'))
      .map(({ path }) => path.replace(/:\w+/, 'x'))
    const statuses = await Promise.all(
      paths.map(async (path) => (await server.newBrowser().get(ISSUER + path)).statusCode)
    )
    return paths.filter((_, index) => statuses[index] === 303)
  }

  test('that does not exist, at every page of the account', async () => {
    const pages = await accountPages()
    expect(pages).toEqual(expect.arrayContaining(['/account/apps', '/account/password', '/account/sessions']))
    const { cookies } = await signedInBrowser(server)
    await server.database.query({ name: '', text: 'delete from sessions', values: [] })
    for (const path of pages) {
      const answer = await server.newBrowser(new Map(cookies)).get(ISSUER + path)
      expect([path, reasonsOf(answer)]).toEqual([path, [['step_refused', 'unknown_session']]])
    }
  })

  test('that has ended, at a page of the account, the consent page and the authorization endpoint', async () => {
    const { browser, page } = await openConsent(server, client.clientId)
    const text = 'update users set session_generation = session_generation + 1 where username = $1'
    await server.database.query({ name: '', text, values: ['alice'] })
    const answers = [
      await browser.get(`${ISSUER}/account/apps`),
      await browser.get(page.url),
      await browser.get(authorizeUrl(client.clientId)),
      await browser.get(authorizeUrl(client.clientId, { prompt: 'login' }))
    ]
    expect(answers.map(reasonsOf)).toEqual(answers.map(() => [['step_refused', 'unknown_session']]))
  })

  test('is not recorded for a browser that comes for the first time, or for an app that asks for a new sign-in', async () => {
    const browser = await signedInBrowser(server)
    const answers = [
      await server.newBrowser().get(`${ISSUER}/account/apps`),
      await server.newBrowser().get(authorizeUrl(client.clientId)),
      await browser.get(authorizeUrl(client.clientId, { prompt: 'login' })),
      await browser.get(`${ISSUER}/logout`)
    ]
    expect(answers.map(reasonsOf)).toEqual([[], [], [], []])
  })
})
