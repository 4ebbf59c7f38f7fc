import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { hiddenField } from '../../support/page-content.js'
import { signOut } from '../../support/pages.js'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())

/** A browser in which alice sees the consent page. */
async function atConsent(): Promise<{ browser: Browser; consent: Page }> {
  const browser = server.newBrowser()
  const login = await browser.open(authorizeUrl(client.clientId))
  return { browser, consent: await browser.submit(login, { username: 'alice', password: PASSWORD }) }
}

const allow = (browser: Browser, page: Page) => browser.submitOnly(page, { decision: 'allow' })
const deny = (browser: Browser, page: Page) => browser.submitOnly(page, { decision: 'deny' })
const locationOf = (page: Page) => String(page.headers.location)

function expectStartedAgain(page: Page): void {
  expect(page.statusCode).toBe(303)
  expect(locationOf(page)).toMatch(new RegExp(`^${ISSUER}/oauth/authorize\\?.*client_id=`))
}

describe('Allow, sent a second time', () => {
  test('gives the same redirect, and the code works once', async () => {
    const { browser, consent } = await atConsent()
    const first = await allow(browser, consent)
    const second = await allow(browser, consent)
    expect(second.statusCode).toBe(303)
    expect(locationOf(second)).toBe(locationOf(first))
    const code = responseParameters(first).code ?? ''
    expect((await exchange(server, client, code)).statusCode).toBe(200)
  })

  test('12 concurrent times: all responses contain the same code', async () => {
    const { browser, consent } = await atConsent()
    const answers = await Promise.all(Array.from({ length: 12 }, () => allow(browser, consent)))
    expect(new Set(answers.map(locationOf)).size).toBe(1)
    expect(responseParameters(answers[0] as Page).code).toMatch(/^vk_ac_/)
  })

  test('after the code was redeemed: starts the request again', async () => {
    const { browser, consent } = await atConsent()
    const code = responseParameters(await allow(browser, consent)).code ?? ''
    await exchange(server, client, code)
    const again = await allow(browser, consent)
    expectStartedAgain(again)
    expect((await browser.open(locationOf(again))).body).toContain('value="allow"')
  })

  test('from a second copy of the page, which has another answer key: starts the request again', async () => {
    const { browser, consent } = await atConsent()
    const reloaded = await browser.open(consent.url)
    await allow(browser, consent)
    expectStartedAgain(await allow(browser, reloaded))
  })

  test('with another answer key in the form: starts the request again', async () => {
    const { browser, consent } = await atConsent()
    await allow(browser, consent)
    expectStartedAgain(await browser.submitOnly(consent, { decision: 'allow', answer_key: 'A'.repeat(43) }))
  })

  test('from another browser: gives no redirect to the app', async () => {
    const { browser, consent } = await atConsent()
    await allow(browser, consent)
    const other = server.newBrowser()
    await other.open(`${ISSUER}/login`)
    expectStartedAgain(await allow(other, consent))
  })

  test('from another user’s browser, with a valid CSRF token and the answer key: gives no redirect to the app', async () => {
    await server.createUser('carol', PASSWORD)
    const { browser, consent } = await atConsent()
    await allow(browser, consent)
    const other = server.newBrowser()
    const login = await other.open(authorizeUrl(client.clientId))
    const carols = await other.submit(login, { username: 'carol', password: PASSWORD })
    const fields = { decision: 'allow', csrf_token: hiddenField(carols.body, 'csrf_token') }
    expectStartedAgain(await other.submitOnly(consent, fields))
    expect(responseParameters(await allow(browser, consent)).code).toMatch(/^vk_ac_/)
  })

  test('after signing out and in again: no redirect to the app, because the form belongs to the earlier session', async () => {
    const { browser, consent } = await atConsent()
    await allow(browser, consent)
    await browser.submit(await signOut(browser), { username: 'alice', password: PASSWORD })
    expectStartedAgain(await allow(browser, consent))
  })

  test('changed to Deny: gives no code', async () => {
    const { browser, consent } = await atConsent()
    await allow(browser, consent)
    expectStartedAgain(await deny(browser, consent))
  })

  test('a form without the answer key works once, and starts the request again the second time', async () => {
    const { browser, consent } = await atConsent()
    const first = await browser.submitOnly(consent, { decision: 'allow', answer_key: '' })
    expect(responseParameters(first).code).toMatch(/^vk_ac_/)
    expectStartedAgain(await browser.submitOnly(consent, { decision: 'allow', answer_key: '' }))
  })
})

test('Redis contains neither the code nor the redirect in clear text, and the encrypted redirect is deleted with the code', async () => {
  const { browser, consent } = await atConsent()
  const code = responseParameters(await allow(browser, consent)).code ?? ''
  const records = async () => {
    const keys = await server.redis.keys('vk:code:*')
    const texts = await Promise.all(keys.map((key) => server.redis.get(key)))
    return texts.map((text, index) => ({ key: keys[index] ?? '', answer: text?.split('\n')[1] ?? '' }))
  }
  const stored = await records()
  expect(stored.some(({ answer }) => answer.length > 100)).toBe(true)
  const text = JSON.stringify([stored, await server.redis.keys('*')])
  expect(text).not.toContain(code)
  expect(stored.map(({ answer }) => Buffer.from(answer, 'base64').toString('latin1')).join()).not.toContain(code)
  await exchange(server, client, code)
  const before = new Set(stored.map(({ key }) => key))
  const spent = (await records()).filter(({ key }) => before.has(key))
  expect(spent.filter(({ answer }) => answer !== '')).toHaveLength(
    stored.filter(({ answer }) => answer !== '').length - 1
  )
})

describe('Deny, sent a second time', () => {
  test('gives the same response', async () => {
    const { browser, consent } = await atConsent()
    const first = await deny(browser, consent)
    const second = await deny(browser, consent)
    expect(responseParameters(first)).toMatchObject({ error: 'access_denied', state: 'a state', iss: ISSUER })
    expect(locationOf(second)).toBe(locationOf(first))
  })

  test('changed to Allow: starts the request again', async () => {
    const { browser, consent } = await atConsent()
    await deny(browser, consent)
    expectStartedAgain(await allow(browser, consent))
  })
})

test('a process that ended during a decision does not block the next form', async () => {
  const { browser, consent } = await atConsent()
  // The state of Redis if the process ends right after it took the request.
  for (const list of await server.redis.keys('vk:requests:*')) {
    const decision = list.replace('vk:requests:', 'vk:decision:')
    for (const hash of await server.redis.lrange(list, 0, -1)) {
      await server.redis.set(`${decision}:${hash}`, 'deciding', 'PX', 300)
    }
    await server.redis.del(list)
  }
  expectStartedAgain(await allow(browser, consent))
})
