import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../support/flow.js'
import { userWithConsent } from '../../support/pages.js'
import { sessionHashOf } from '../../support/sessions.js'

let server: TestServer
let clock: ReturnType<typeof stopClock>

beforeAll(async () => {
  clock = stopClock()
  server = await startTestServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})
// The limits of sign-ins are in Redis.
afterEach(() => server.redis.flushdb())

describe('max_age (OpenID Connect Core §3.1.2.1, RFC 9470 §4)', () => {
  let client: Credentials
  let username: string
  let browser: Browser

  beforeEach(async () => {
    ;({ username, client, browser } = await userWithConsent(server))
  })

  const request = (max_age: string | undefined, change: Record<string, string> = {}) =>
    authorizeUrl(client.clientId, { max_age, ...change })
  const signIn = (page: Page, from = browser) => from.submit(page, { username, password: PASSWORD })

  /** Returns where the browser ends: a page, a code, or an error. */
  function endOf(page: Page): string {
    if (page.headers.location === undefined) return new URL(page.url).pathname
    const { code, error = 'no error' } = responseParameters(page)
    return code === undefined ? error : 'code'
  }

  test.each([
    { age: 0, max_age: '300', end: 'code' },
    { age: 300, max_age: '300', end: 'code' },
    { age: 301, max_age: '300', end: '/login' },
    { age: 301, max_age: undefined, end: 'code' },
    { age: 1, max_age: '0', end: '/login' },
    { age: 3_600, max_age: '9'.repeat(400), end: 'code' },
    { age: 301, max_age: '300', prompt: 'none', end: 'login_required' },
    { age: 300, max_age: '300', prompt: 'none', end: 'code' },
    { age: 1, max_age: '0', prompt: 'none', end: 'login_required' },
    { age: 1, max_age: '300', prompt: 'login', end: '/login' },
    { age: 301, max_age: '300', prompt: 'consent', end: '/login' },
    { age: 1, max_age: '300', prompt: 'consent', end: '/consent' }
  ])('$max_age, a sign-in $age s ago, prompt $prompt: $end', async ({ age, max_age, prompt, end }) => {
    clock.advance(age)
    const change = prompt === undefined ? {} : { prompt }
    for (const step of ['/oauth/authorize', '/login', '/consent']) {
      const url = request(max_age, change).replace('/oauth/authorize', step)
      expect([step, endOf(await browser.open(url))]).toEqual([step, end])
    }
  })

  test('a session whose way to sign in does not say when the user signed in must sign in again', async () => {
    const text = `update sessions set authenticated_at = null where user_id = (select user_id from users where username = $1)`
    await server.database.query({ name: 'test_forget_authentication', text, values: [username] })
    expect(endOf(await browser.open(request('3600')))).toBe('/login')
    expect(endOf(await browser.open(request('3600', { prompt: 'none' })))).toBe('login_required')
    expect(endOf(await browser.open(request(undefined)))).toBe('code')
  })

  test('a request without a session leads to the sign-in page, and with prompt=none to login_required', async () => {
    expect(endOf(await server.newBrowser().open(request('300')))).toBe('/login')
    expect(endOf(await server.newBrowser().open(request('300', { prompt: 'none' })))).toBe('login_required')
  })

  test('a sign-in for this request gives the code, also with max_age=0, and in a new session', async () => {
    clock.advance(10)
    const session = browser.cookies.get(COOKIES.session)
    const page = await signIn(await browser.open(request('0')))
    expect(responseParameters(page)).toEqual({ code: expect.any(String), state: 'a state', iss: ISSUER })
    expect(browser.cookies.get(COOKIES.session)).not.toBe(session)
  })

  test('a sign-in for this request counts although the way to sign in does not say when it was', async () => {
    clock.advance(10)
    const page = await browser.submitOnly(await browser.open(request('0')), { username, password: PASSWORD })
    const text = 'update sessions set authenticated_at = null where session_hash = $1'
    const values = [Buffer.from(sessionHashOf(browser), 'base64url')]
    await server.database.query({ name: 'test_forget_this_authentication', text, values })
    expect(endOf(await browser.open(String(page.headers.location)))).toBe('code')
  })

  test.each(['0', '300'])('max_age=%s: the address after a sign-in counts once', async (max_age) => {
    clock.advance(301)
    const form = await browser.open(request(max_age))
    const signedIn = await browser.submitOnly(form, { username, password: PASSWORD })
    const location = String(signedIn.headers.location)
    expect(endOf(await browser.open(location))).toBe('code')
    clock.advance(301)
    expect(endOf(await browser.open(location))).toBe('/login')
  })

  test('the sign-in of one tab is enough for the other, as long as it is within max_age', async () => {
    clock.advance(301)
    const first = await browser.open(request('300', { state: 'first' }))
    const second = await browser.open(request('300', { state: 'second' }))
    expect(endOf(await signIn(first))).toBe('code')
    // The second tab sends its form, or is loaded again.
    const sent = await signIn(second)
    expect([endOf(sent), responseParameters(sent).state]).toEqual(['code', 'second'])
    expect(endOf(await browser.open(second.url))).toBe('code')
    clock.advance(301)
    expect(endOf(await browser.open(second.url))).toBe('/login')
  })

  test('max_age survives the sign-in, the consent page, and a reload of it', async () => {
    clock.advance(301)
    const page = await signIn(await browser.open(request('300', { prompt: 'consent' })))
    expect(endOf(page)).toBe('/consent')
    expect(new URL(page.url).searchParams.get('max_age')).toBe('300')
    const again = await browser.open(page.url)
    expect(endOf(again)).toBe('/consent')
    expect(endOf(await browser.submitOnly(again, { decision: 'allow' }))).toBe('code')
  })

  test('a consent page that was open for longer than max_age still leads to a code', async () => {
    const page = await browser.open(request('300', { prompt: 'consent' }))
    clock.advance(600)
    expect(endOf(await browser.submitOnly(page, { decision: 'allow' }))).toBe('code')
  })
})
