import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'

const HOUR = 3600
const DAY = 24 * HOUR

// Redis has a clock of its own, which goes on. An emulation in this process would stop with this clock.
const clock = stopClock()
let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

const sessionOf = (browser: Browser) => browser.cookies.get('vk_session') ?? ''
const keyOf = (sessionId: string) => `vk:session:${createHash('sha256').update(sessionId).digest('base64url')}`

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(`${ISSUER}/login`)).body.includes('You are signed in')
}

test('a session ends after 12 hours without a request; every request restarts them', async () => {
  const browser = await signedInBrowser(server)
  const key = keyOf(sessionOf(browser))
  expect(await server.redis.ttl(key)).toBeGreaterThan(12 * HOUR - 10)
  await server.redis.expire(key, 60)
  expect(await isSignedIn(browser)).toBe(true)
  const ttl = await server.redis.ttl(key)
  expect([ttl > 12 * HOUR - 10, ttl <= 12 * HOUR]).toEqual([true, true])
  await server.redis.pexpire(key, 1)
  await until(async () => (await server.redis.exists(key)) === 0)
  expect(await isSignedIn(browser)).toBe(false)
})

test('a session ends seven days after the sign-in, however often it is used', async () => {
  const browser = await signedInBrowser(server)
  for (let day = 0; day < 6; day++) {
    clock.advance(DAY)
    expect(await isSignedIn(browser)).toBe(true)
  }
  clock.advance(DAY - 1)
  expect(await isSignedIn(browser)).toBe(true)
  clock.advance(1)
  expect(await isSignedIn(browser)).toBe(false)
  const page = await browser.open(authorizeUrl(client.clientId))
  expect(new URL(page.url).pathname).toBe('/login')
})
