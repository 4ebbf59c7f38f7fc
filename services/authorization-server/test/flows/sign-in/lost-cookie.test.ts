import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { openConsent } from '../../support/pages.js'

const SIGN_IN = { username: 'alice', password: PASSWORD }
const NO_COOKIE = {
  en: 'Your browser sent no cookie for this sign-in.',
  de: 'Ihr Browser hat kein Cookie für diese Anmeldung gesendet.',
  ar: 'لم يرسل متصفحك ملف تعريف الارتباط الخاص بتسجيل الدخول هذا.'
}

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

async function openLogin(): Promise<{ browser: Browser; login: Page }> {
  const browser = server.newBrowser()
  return { browser, login: await browser.open(authorizeUrl(client.clientId, { state: 'mine' })) }
}

async function expectToFinish(browser: Browser, page: Page): Promise<void> {
  const consent = await browser.submit(page, SIGN_IN)
  expect(responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))).toMatchObject({
    code: expect.any(String),
    state: 'mine'
  })
}

const changes: readonly { name: string; change: (browser: Browser) => Promise<void> }[] = [
  { name: 'that was deleted, or has expired', change: async ({ cookies }) => cookies.clear() },
  {
    name: 'of the sign-in of another browser',
    change: async ({ cookies }) => {
      const { browser } = await openLogin()
      cookies.set(COOKIES.browser, browser.cookies.get(COOKIES.browser) ?? '')
    }
  },
  { name: 'that is malformed', change: async ({ cookies }) => void cookies.set(COOKIES.browser, 'x') }
]

describe.each(changes)('a sign-in form with a cookie $name', ({ change }) => {
  test.each(Object.entries(NO_COOKIE))(
    'comes back in %s and says so, with the user name alone',
    async (language, text) => {
      const { browser, login } = await openLogin()
      await change(browser)
      const again = await browser.submitOnly(login, SIGN_IN, { 'accept-language': language })
      expect([again.statusCode, again.headers['cache-control']]).toEqual([422, 'no-store'])
      expect(visibleText(again.body)).toContain(text)
      expect(again.body).toContain('value="alice"')
      expect(again.body).not.toContain(PASSWORD)
      expect(browser.cookies.has(COOKIES.session)).toBe(false)
      await expectToFinish(browser, again)
    }
  )

  test('does not check the password', async () => {
    const { browser, login } = await openLogin()
    await change(browser)
    const again = await browser.submitOnly(login, { username: '"><b>', password: 'wrong' })
    expect(visibleText(again.body)).toContain(NO_COOKIE.en)
    expect(visibleText(again.body)).not.toContain('wrong')
    expect(again.body).not.toContain('"><b>"')
  })
})

test('two sign-in pages of one browser share its cookie: both forms are accepted', async () => {
  const { browser, login } = await openLogin()
  await browser.open(authorizeUrl(client.clientId, { state: 'other' }))
  await expectToFinish(browser, login)
})

test('without an authorization request, the form comes back, too', async () => {
  const browser = server.newBrowser()
  const login = await browser.open(`${ISSUER}/login`)
  browser.cookies.clear()
  const again = await browser.submitOnly(login, SIGN_IN)
  expect(visibleText(again.body)).toContain(NO_COOKIE.en)
  expect((await browser.submit(again, SIGN_IN)).url).toBe(`${ISSUER}/account/apps`)
})

test('a form of another site does not get the page', async () => {
  const { browser, login } = await openLogin()
  browser.cookies.clear()
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const refused = await browser.submitOnly(login, SIGN_IN, headers)
  expect(refused.statusCode).toBe(403)
  expect(refused.body).not.toContain('alice')
})

test('a pending request that expired with its session: the sign-in form explains it, and the request continues', async () => {
  const { browser, page } = await openConsent(server, client.clientId, { change: { state: 'mine' } })
  await server.redis.flushdb()
  const login = await browser.submit(page, { decision: 'allow' })
  expect(new URL(login.url).pathname).toBe('/login')
  expect(visibleText(login.body)).toContain('Your sign-in was interrupted or has expired. Please sign in again')
  await expectToFinish(browser, login)
})
