import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { browserAt } from '../../support/endings.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
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

async function loseAll(): Promise<void> {
  await loseRedis()
  await server.database.query({ name: '', text: 'delete from sessions', values: [] })
}

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

/** Goes on without a sign-in. */
async function expectToAllow(page: Page): Promise<void> {
  expect(pathOf(page)).toBe('/consent')
  await expectToFinish(page)
}

/** The sign-in page, which explains the loss and names the app. */
function expectSaidAtSignIn(page: Page, status = 200, notice = INTERRUPTED): void {
  expect([pathOf(page), page.statusCode]).toEqual(['/login', status])
  expect(visibleText(page.body)).toContain(notice)
  expect(visibleText(page.body)).toContain('to continue to Photo Printer')
}

describe('the sessions end and Redis loses its data during the flow: the page explains it, and the request continues', () => {
  test('before the sign-in page: nothing was stored', async () => {
    const answer = await browser.get(authorizeUrl(client.clientId, { state: 'mine' }))
    await loseAll()
    const page = await browser.open(String(answer.headers.location))
    expect(visibleText(page.body)).not.toContain(INTERRUPTED)
    await expectToFinish(page)
  })

  test('between the sign-in page and its form: nothing was stored', async () => {
    const page = await open()
    await loseAll()
    const consent = await browser.submit(page, SIGN_IN)
    expect(pathOf(consent)).toBe('/consent')
    await expectToFinish(consent)
  })

  test('after the sign-in, before the consent page', async () => {
    const answer = await browser.submitOnly(await open(), SIGN_IN)
    await loseAll()
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
    await loseAll()
    const page = await go(consent)
    expectSaidAtSignIn(page)
    await expectToFinish(page)
  })

  test('before a second Allow of the same form', async () => {
    const consent = await browser.submit(await open(), SIGN_IN)
    await browser.submitOnly(consent, ALLOW)
    await loseAll()
    const page = await browser.submit(consent, ALLOW)
    expectSaidAtSignIn(page)
    await expectToFinish(page)
  })

  test('before an app that needs no consent asks again', async () => {
    const remembers = await server.createClient({ consent: 'remember' })
    const url = authorizeUrl(remembers.clientId)
    const consent = await browser.submit(await browser.open(url), SIGN_IN)
    await browser.submitOnly(consent, ALLOW)
    await loseAll()
    const page = await browser.open(url)
    expectSaidAtSignIn(page)
    expect(responseParameters(await browser.submitOnly(page, SIGN_IN))).not.toHaveProperty('error')
  })

  test('before the page of connected apps', async () => {
    browser = await signedInBrowser(server)
    await loseAll()
    const page = await browser.open(`${ISSUER}/account/apps`)
    expect(pathOf(page)).toBe('/login')
    expect(visibleText(page.body)).toContain(INTERRUPTED)
    const next = await browser.submit(page, SIGN_IN)
    expect(pathOf(next)).toBe('/account/apps')
  })

  test('a wrong password replaces the notice by its own message', async () => {
    const answer = await browser.submitOnly(await open(), SIGN_IN)
    await loseAll()
    const page = await browser.open(String(answer.headers.location))
    const refused = await browser.submit(page, { ...SIGN_IN, password: 'wrong' })
    expect(visibleText(refused.body)).not.toContain(INTERRUPTED)
    await expectToFinish(refused)
  })
})

describe('Redis loses its data during the flow: all users stay signed in', () => {
  test('after the sign-in, before the consent page', async () => {
    const answer = await browser.submitOnly(await open(), SIGN_IN)
    await loseRedis()
    await expectToAllow(await browser.open(String(answer.headers.location)))
  })

  test.each(['allow', 'deny'])('before %s: the consent page again, with a notice', async (decision) => {
    const opened = await openConsent(server, client.clientId, { change: { state: 'mine' } })
    browser = opened.browser
    await loseRedis()
    const page = await browser.submit(opened.page, { decision })
    expect([pathOf(page), page.statusCode]).toEqual(['/consent', 200])
    expect(visibleText(page.body)).toContain(ASKED_AGAIN)
    await expectToAllow(page)
  })

  test('before a reload: the consent page again, without a notice', async () => {
    const opened = await openConsent(server, client.clientId, { change: { state: 'mine' } })
    browser = opened.browser
    await loseRedis()
    const page = await browser.open(opened.page.url)
    expect(visibleText(page.body)).not.toContain(ASKED_AGAIN)
    await expectToAllow(page)
  })

  test('before a second Allow of the same form: the consent page again', async () => {
    const consent = await browser.submit(await open(), SIGN_IN)
    await browser.submitOnly(consent, ALLOW)
    await loseRedis()
    await expectToAllow(await browser.submit(consent, ALLOW))
  })

  test('before an app that needs no consent asks again: a code', async () => {
    const remembers = await server.createClient({ consent: 'remember' })
    const url = authorizeUrl(remembers.clientId)
    const consent = await browser.submit(await browser.open(url), SIGN_IN)
    await browser.submitOnly(consent, ALLOW)
    await loseRedis()
    expect(responseParameters(await browser.get(url))).toHaveProperty('code')
  })

  test('several users stay signed in, each as themselves', async () => {
    const names = ['alice', 'bert', 'cora', 'dora']
    for (const name of names.slice(1)) await server.createUser(name, PASSWORD)
    // Two browsers of each user.
    const browsers = await Promise.all(
      [...names, ...names].map(async (name) => ({ name, browser: await signedInBrowser(server, name) }))
    )
    await loseRedis()
    const shown = await Promise.all(
      browsers.map(async (each) => {
        const page = await each.browser.open(`${ISSUER}/account/apps`)
        expect(pathOf(page)).toBe('/account/apps')
        return names.filter((name) => visibleText(page.body).includes(name))
      })
    )
    expect(shown).toEqual(browsers.map(({ name }) => [name]))
    const clientId = (await server.createClient()).clientId
    for (const each of browsers) expect(pathOf(await each.browser.open(authorizeUrl(clientId)))).toBe('/consent')
    // A session that ended before the loss is not restored by it.
    const [first, second] = browsers.map((each) => each.browser)
    if (first === undefined || second === undefined) throw new Error('no browsers')
    await signOut(first)
    await loseRedis()
    expect(pathOf(await first.open(`${ISSUER}/account/apps`))).toBe('/login')
    expect(pathOf(await second.open(`${ISSUER}/account/apps`))).toBe('/account/apps')
  })
})

test('without Redis the pages of the account and signing out work, and a code gets 503', async () => {
  const remembers = await server.createClient({ consent: 'remember' })
  const consent = await browser.submit(await browser.open(authorizeUrl(remembers.clientId)), SIGN_IN)
  await browser.submitOnly(consent, ALLOW)
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const without = await startInstance(server, { redis })
  const there = browserAt(without, browser)
  for (const path of ['/account/apps', '/account/sessions'])
    expect((await there.get(ISSUER + path)).statusCode).toBe(200)
  expect((await there.get(authorizeUrl(remembers.clientId))).statusCode).toBe(503)
  expect(visibleText((await signOut(there)).body)).toContain('You are signed out')
  redis.disconnect()
  await without.close()
  expect(pathOf(await browser.open(`${ISSUER}/account/apps`))).toBe('/login')
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
