import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { deleteKeys } from '../../support/delete-keys.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { openConsent, signedInBrowser, signOut } from '../../support/pages.js'

const SIGN_IN = { username: 'alice', password: PASSWORD }
const INTERRUPTED = 'Your sign-in was interrupted or has expired. Please sign in again to continue.'
const ASKED_AGAIN = 'Please decide again. The page was no longer valid'
const ALLOW = { decision: 'allow' }

let server: TestServer
let client: Credentials
let browser: Browser

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
beforeEach(() => {
  browser = server.newBrowser()
})
afterAll(() => server.close())

const loseRedis = () => server.redis.flushdb()
const pathOf = (page: Page) => new URL(page.url).pathname
const open = (change = {}) => browser.open(authorizeUrl(client.clientId, { state: 'mine', ...change }))

/** Continues the request from this page: sign in if it requires that, allow, and redeem the code. */
async function expectToFinish(page: Page): Promise<void> {
  const consent = pathOf(page) === '/login' ? await browser.submit(page, SIGN_IN) : page
  expect([pathOf(consent), consent.statusCode]).toEqual(['/consent', 200])
  const { code = '', state } = responseParameters(await browser.submitOnly(consent, ALLOW))
  expect(state).toBe('mine')
  expect((await exchange(server, client, code)).statusCode).toBe(200)
}

/** The sign-in page, which explains the loss and names the app. */
function expectSaidAtSignIn(page: Page, status = 200, notice = INTERRUPTED): void {
  expect([pathOf(page), page.statusCode]).toEqual(['/login', status])
  expect(visibleText(page.body)).toContain(notice)
  expect(visibleText(page.body)).toContain('to continue to Photo Printer')
}

describe('Redis loses its data during the flow: the page explains it, and the request continues', () => {
  test('before the sign-in page: nothing was stored', async () => {
    const answer = await browser.get(authorizeUrl(client.clientId, { state: 'mine' }))
    await loseRedis()
    const page = await browser.open(String(answer.headers.location))
    expect(visibleText(page.body)).not.toContain(INTERRUPTED)
    await expectToFinish(page)
  })

  test('between the sign-in page and its form: nothing was stored', async () => {
    const page = await open()
    await loseRedis()
    const consent = await browser.submit(page, SIGN_IN)
    expect(pathOf(consent)).toBe('/consent')
    await expectToFinish(consent)
  })

  test('after the sign-in, before the consent page', async () => {
    const answer = await browser.submitOnly(await open(), SIGN_IN)
    await loseRedis()
    const page = await browser.open(String(answer.headers.location))
    expectSaidAtSignIn(page)
    await expectToFinish(page)
  })

  test.each<{ name: string; go: (page: Page) => Promise<Page> }>([
    { name: 'a reload of the consent page', go: (page) => browser.open(page.url) },
    { name: 'Allow', go: (page) => browser.submit(page, ALLOW) },
    { name: 'Deny', go: (page) => browser.submit(page, { decision: 'deny' }) }
  ])('before $name', async ({ go }) => {
    const consent = await browser.submit(await open(), SIGN_IN)
    await loseRedis()
    const page = await go(consent)
    expectSaidAtSignIn(page)
    await expectToFinish(page)
  })

  test('before a second Allow of the same form', async () => {
    const consent = await browser.submit(await open(), SIGN_IN)
    await browser.submitOnly(consent, ALLOW)
    await loseRedis()
    const page = await browser.submit(consent, ALLOW)
    expectSaidAtSignIn(page)
    await expectToFinish(page)
  })

  test('before an app that needs no consent asks again', async () => {
    const remembers = await server.createClient({ consent: 'remember' })
    const url = authorizeUrl(remembers.clientId)
    const consent = await browser.submit(await browser.open(url), SIGN_IN)
    await browser.submitOnly(consent, ALLOW)
    await loseRedis()
    const page = await browser.open(url)
    expectSaidAtSignIn(page)
    expect(responseParameters(await browser.submitOnly(page, SIGN_IN))).not.toHaveProperty('error')
  })

  test('before the page of connected apps', async () => {
    browser = await signedInBrowser(server)
    await loseRedis()
    const page = await browser.open(`${ISSUER}/account/apps`)
    expect(pathOf(page)).toBe('/login')
    expect(visibleText(page.body)).toContain(INTERRUPTED)
    const next = await browser.submit(page, SIGN_IN)
    expect(pathOf(next)).toBe('/account/apps')
  })

  test('a wrong password replaces the notice by its own message', async () => {
    const answer = await browser.submitOnly(await open(), SIGN_IN)
    await loseRedis()
    const page = await browser.open(String(answer.headers.location))
    const refused = await browser.submit(page, { ...SIGN_IN, password: 'wrong' })
    expect(visibleText(refused.body)).not.toContain(INTERRUPTED)
    await expectToFinish(refused)
  })
})

describe('Redis loses the request, but not the session', () => {
  const loseRequests = () => deleteKeys(server, 'vk:request*')

  test.each(['allow', 'deny'])('before %s: the consent page again, with a notice', async (decision) => {
    const opened = await openConsent(server, client.clientId, { change: { state: 'mine' } })
    browser = opened.browser
    await loseRequests()
    const page = await browser.submit(opened.page, { decision })
    expect([pathOf(page), page.statusCode]).toEqual(['/consent', 200])
    expect(visibleText(page.body)).toContain(ASKED_AGAIN)
    await expectToFinish(page)
  })

  test('before a reload: the consent page again, without a notice', async () => {
    const opened = await openConsent(server, client.clientId, { change: { state: 'mine' } })
    browser = opened.browser
    await loseRequests()
    const page = await browser.open(opened.page.url)
    expect(visibleText(page.body)).not.toContain(ASKED_AGAIN)
    await expectToFinish(page)
  })
})

test('a new browser sees no notice', async () => {
  expect(visibleText((await open()).body)).not.toContain(INTERRUPTED)
  expect(visibleText((await server.newBrowser().open(`${ISSUER}/login`)).body)).not.toContain(INTERRUPTED)
})

test('a browser that signed out sees no notice', async () => {
  const answer = await signOut(await signedInBrowser(server))
  expect(visibleText(answer.body)).toContain('You are signed out')
  expect(visibleText(answer.body)).not.toContain(INTERRUPTED)
})

test('cookies cleared between the sign-in page and its form: a notice, and the request continues', async () => {
  const page = await open()
  browser.cookies.clear()
  const again = await browser.submit(page, SIGN_IN)
  expectSaidAtSignIn(again, 422, 'Your browser sent no cookie for this sign-in')
  await expectToFinish(again)
})
