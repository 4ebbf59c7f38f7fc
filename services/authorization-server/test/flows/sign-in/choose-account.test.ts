import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, responseParameters } from '../../support/flow.js'
import { hiddenField, visibleText } from '../../support/page-content.js'
import { fromForm, postTo, signOut, userWithConsent } from '../../support/pages.js'
import { sessionHashOf } from '../../support/sessions.js'

const CONTINUE = '/login/continue'

let server: TestServer
let client: Credentials
let browser: Browser
let username: string

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

beforeEach(async () => {
  ;({ username, client, browser } = await userWithConsent(server))
})

const ask = (change: Record<string, string> = {}) =>
  browser.open(authorizeUrl(client.clientId, { prompt: 'select_account', ...change }))
const pathOf = (page: Page) => new URL(page.url).pathname
const offersAccount = (page: Page) => page.body.includes(`action="${ISSUER}${CONTINUE}`)

describe('prompt=select_account with a session', () => {
  test('the page offers the account of the session and another one', async () => {
    const page = await ask()
    expect(pathOf(page)).toBe('/login')
    expect(page.body).toContain('<title>Choose an account · Valetkey</title>')
    expect(visibleText(page.body)).toMatch(
      new RegExp(
        `Choose an account .*to continue to Photo Printer .*Continue as ${username} Use another account User name`
      )
    )
    expect(fromForm(page, '/login').body).toMatch(/name="username"[^>]* value=""/)
  })

  test('"Continue as" gives the code, and keeps the session', async () => {
    const session = browser.cookies.get(COOKIES.session)
    const answer = await browser.submit(await ask(), {})
    expect(responseParameters(answer)).toEqual({ code: expect.any(String), state: 'a state', iss: ISSUER })
    expect(browser.cookies.get(COOKIES.session)).toBe(session)
  })

  test('the consent page follows if the scope is new', async () => {
    const page = await browser.submit(await ask({ scope: 'files.read files.read:images' }), {})
    expect(pathOf(page)).toBe('/consent')
    expect(visibleText(page.body)).toContain(`Signed in as ${username}`)
  })

  test('one choice serves one request', async () => {
    const redirect = await browser.submitOnly(await ask(), {})
    const location = String(redirect.headers.location)
    expect(responseParameters(await browser.get(location)).code).toBeDefined()
    expect(pathOf(await browser.open(location))).toBe('/login')
    expect(pathOf(await ask())).toBe('/login')
  })

  test('the form for another account is open after a wrong password, and the choice stays', async () => {
    const page = await ask()
    expect(page.body).toContain('<details class="account-other">')
    const refused = await browser.submit(fromForm(page, '/login'), { username: 'somebody', password: 'wrong' })
    expect([refused.statusCode, offersAccount(refused)]).toEqual([422, true])
    expect(refused.body).toContain('<details class="account-other" open>')
  })
})

describe('the session is not offered', () => {
  test.each<{ name: string; change: Record<string, string> }>([
    { name: 'prompt=login', change: { prompt: 'login' } },
    { name: 'prompt=select_account login', change: { prompt: 'select_account login' } },
    { name: 'a session that is too old for max_age', change: { max_age: '0' } }
  ])('$name', async ({ change }) => {
    const page = await ask(change)
    expect([pathOf(page), offersAccount(page)]).toEqual(['/login', false])
  })

  test('without a session', async () => {
    await signOut(browser)
    expect(offersAccount(await ask())).toBe(false)
  })
})

describe('POST /login/continue without a right to it', () => {
  const form = (page: Page) => new URLSearchParams({ csrf_token: hiddenField(page.body, 'csrf_token') }).toString()
  const send = (
    change: Record<string, string>,
    payload: string,
    headers: Record<string, string> = { origin: ISSUER }
  ) => {
    const url = authorizeUrl(client.clientId, { prompt: 'select_account', ...change })
    return postTo(server, browser, url.replace('/oauth/authorize', CONTINUE), payload, headers)
  }

  test.each<{ name: string; change: Record<string, string> }>([
    { name: 'prompt=login', change: { prompt: 'login' } },
    { name: 'both values', change: { prompt: 'select_account login' } },
    { name: 'max_age', change: { max_age: '0' } }
  ])('an edited address with $name: the sign-in page', async ({ change }) => {
    const answer = await send(change, form(await ask()))
    expect(answer.statusCode).toBe(303)
    expect(pathOf(await browser.open(String(answer.headers.location)))).toBe('/login')
  })

  test('an invalid CSRF token: the sign-in page', async () => {
    const answer = await send({}, 'csrf_token=forged')
    expect(pathOf(await browser.open(String(answer.headers.location)))).toBe('/login')
  })

  test('a form of another site: 403', async () => {
    expect((await send({}, form(await ask()), { origin: 'https://evil.example' })).statusCode).toBe(403)
  })

  test('a session that has ended since: the sign-in page without a choice', async () => {
    const page = await ask()
    await server.deps.session.sessions.close(sessionHashOf(browser))
    const next = await browser.submit(page, {})
    expect([pathOf(next), offersAccount(next)]).toEqual(['/login', false])
  })

  test('without an authorization request: the account', async () => {
    const page = await browser.open(`${ISSUER}/account/apps`)
    const answer = await postTo(server, browser, ISSUER + CONTINUE, form(page), { origin: ISSUER })
    expect(pathOf(await browser.open(String(answer.headers.location)))).toBe('/account/apps')
  })
})
