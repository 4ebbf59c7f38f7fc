import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { hashId } from '../../../src/browser/session/random-id.js'
import { ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser, Page } from '../../support/browser.js'
import { deleteKeys } from '../../support/delete-keys.js'
import { PASSWORD } from '../../support/flow.js'
import {
  callbackUrl,
  HANDOFF,
  insertIdentity,
  requestIdOf,
  signAssertion,
  startHandoff
} from '../../support/handoff.js'
import { collectLog } from '../../support/log-lines.js'
import { signOut } from '../../support/pages.js'

let server: TestServer
const log = collectLog()
beforeAll(async () => {
  server = await startTestServer({ ...HANDOFF, LOG_LEVEL: 'trace' }, log.logger)
  await insertIdentity(server, await server.createUser('alice', PASSWORD), 'alice')
  await insertIdentity(server, await server.createUser('mallory', PASSWORD), 'mallory')
})
afterAll(() => server.close())

async function begin(): Promise<{ browser: Browser; nonce: string }> {
  const browser = server.newBrowser()
  return { browser, nonce: requestIdOf(await startHandoff(browser)) }
}

const isSignedIn = async (browser: Browser) => (await browser.get(`${ISSUER}/account/apps`)).statusCode === 200

function expectRefusal(page: Page, title: string): void {
  expect(page.statusCode).toBe(400)
  expect(page.body).toContain(title)
  expect(page.headers['referrer-policy']).toBe('no-referrer')
}

test('an assertion is refused in another browser, and still works in its own (login CSRF)', async () => {
  const { browser, nonce } = await begin()
  const assertion = await signAssertion({ nonce, sub: 'mallory' })
  for (const victim of [server.newBrowser(), (await begin()).browser]) {
    expectRefusal(await victim.open(callbackUrl(assertion)), 'This sign-in belongs to another browser')
    expect(await isSignedIn(victim)).toBe(false)
  }
  await browser.open(callbackUrl(assertion))
  expect(await isSignedIn(browser)).toBe(true)
})

test('an assertion that is sent again after signing out signs no user in: the browser is back at sign-in', async () => {
  const { browser, nonce } = await begin()
  const assertion = await signAssertion({ nonce, sub: 'alice' })
  await browser.open(callbackUrl(assertion))
  await signOut(browser)
  const page = await browser.open(callbackUrl(assertion))
  expect(page.url).toBe(`${ISSUER}/login?again=interrupted`)
  expect(await isSignedIn(browser)).toBe(false)
})

test('an assertion about another person does not replace the session of its request', async () => {
  const { browser, nonce } = await begin()
  await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'alice' })))
  const page = await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'mallory' })))
  expectRefusal(page, 'This sign-in is no longer available')
  expect((await browser.open(`${ISSUER}/account/apps`)).body).toContain('alice')
})

test('an assertion that is sent twice in parallel opens one session, and neither response is an error', async () => {
  const { browser, nonce } = await begin()
  const assertion = await signAssertion({ nonce, sub: 'alice' })
  const sessions = async () => (await server.redis.keys('vk:session:*')).length
  const before = await sessions()
  const answers = await Promise.all([browser.get(callbackUrl(assertion)), browser.get(callbackUrl(assertion))])
  const next = answers.map(({ headers }) => String(headers.location))
  expect(next.toSorted()).toEqual([`${ISSUER}/account/apps`, `${ISSUER}/login?again=interrupted`])
  expect(await sessions()).toBe(before + 1)
  expect(await isSignedIn(browser)).toBe(true)
  for (const url of next) expect((await browser.open(url)).statusCode).toBe(200)
})

test.each([
  { name: 'of a signed-in user', query: '', signsIn: true, next: `${ISSUER}/account/apps` },
  {
    name: 'with an invalid request',
    query: '?client_id=x',
    signsIn: false,
    next: `${ISSUER}/oauth/authorize?client_id=x`
  }
])('a start $name leads to no login page and stores nothing', async ({ query, signsIn, next }) => {
  const { browser, nonce } = await begin()
  if (signsIn) await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'alice' })))
  await deleteKeys(server, 'vk:attempt*')
  const page = await browser.get(`${ISSUER}/login/handoff${query}`)
  expect(page.headers.location).toBe(next)
  expect(await server.redis.keys('vk:attempt*')).toEqual([])
})

test('HEAD takes nothing, as a program that previews links sends it', async () => {
  const { browser, nonce } = await begin()
  const url = callbackUrl(await signAssertion({ nonce, sub: 'alice' }))
  const cookies = Object.fromEntries(browser.cookies)
  const head = await server.publicServer.inject({ method: 'HEAD', url: url.slice(ISSUER.length), cookies })
  expect(head.statusCode).toBe(405)
  await browser.open(url)
  expect(await isSignedIn(browser)).toBe(true)
})

test('a wrong signature does not use up the request', async () => {
  const { browser, nonce } = await begin()
  const forged = `${(await signAssertion({ nonce, sub: 'alice' })).slice(0, -8)}AAAAAAAA`
  expectRefusal(await browser.open(callbackUrl(forged)), 'is not set up correctly')
  await browser.open(callbackUrl(await signAssertion({ nonce, sub: 'alice' })))
  expect(await isSignedIn(browser)).toBe(true)
})

test.each([
  { name: 'two assertions', query: 'assertion=a&assertion=b' },
  { name: 'nothing', query: '' },
  { name: 'a cancelled request that is unknown', query: `request=${'a'.repeat(43)}&error=access_denied` }
])('$name is refused', async ({ query }) => {
  const page = await server.newBrowser().open(`${ISSUER}/login/handoff/callback?${query}`)
  expect(page.statusCode).toBe(400)
})

test('a stored request that was edited or copied in Redis is refused', async () => {
  const [alice, mallory] = [await begin(), await begin()]
  const key = (nonce: string) => `vk:attempt:{${hashId(nonce)}}`
  const record = (await server.redis.get(key(mallory.nonce))) ?? ''
  const json = record.indexOf('{')
  const edited = { ...JSON.parse(record.slice(json)), purpose: { kind: 'link', userId: 'alice', sessionHash: 'x' } }
  for (const forged of [record, `${record.slice(0, json)}${JSON.stringify(edited)}`]) {
    await server.redis.set(key(alice.nonce), forged)
    const page = await mallory.browser.open(callbackUrl(await signAssertion({ nonce: alice.nonce, sub: 'alice' })))
    expectRefusal(page, 'This sign-in is no longer available')
  }
})

test('the log has no assertion and no request id', async () => {
  const { browser, nonce } = await begin()
  const assertion = await signAssertion({ nonce, sub: 'alice' })
  await browser.open(callbackUrl(assertion))
  const text = JSON.stringify(log.lines)
  expect(text).toContain('sign_in_succeeded')
  expect(text).not.toContain(assertion)
  expect(text).not.toContain(nonce)
})
