import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { browserAt } from '../../support/endings.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { openConsent, signedInBrowser } from '../../support/pages.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { sessionHashOf } from '../../support/sessions.js'
import { writeRest } from '../../support/write-rest.js'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const clock = stopClock()
let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient({ consent: 'remember' })
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(`${ISSUER}/login`)).body.includes('You are signed in')
}

async function seenAt(browser: Browser): Promise<Date | undefined> {
  const [row] = await server.database.query<{ seen_at: Date }>({
    name: 'test_seen_at',
    text: 'select seen_at from sessions where session_hash = $1',
    values: [Buffer.from(sessionHashOf(browser), 'base64url')]
  })
  return row?.seen_at
}

test('a session ends after 12 hours without a request; a request restarts them', async () => {
  const browser = await signedInBrowser(server)
  for (let time = 0; time < 3; time++) {
    clock.advance(12 * HOUR - 1)
    expect(await isSignedIn(browser)).toBe(true)
    await writeRest(server)
  }
  clock.advance(12 * HOUR)
  expect(await isSignedIn(browser)).toBe(false)
})

test('a session ends seven days after the sign-in, however often it is used', async () => {
  const browser = await signedInBrowser(server)
  for (let use = 0; use < 14; use++) {
    clock.advance(DAY / 2 - 1)
    expect(await isSignedIn(browser)).toBe(true)
    await writeRest(server)
  }
  clock.advance(13)
  expect(await isSignedIn(browser)).toBe(true)
  clock.advance(1)
  expect(await isSignedIn(browser)).toBe(false)
  const page = await browser.open(authorizeUrl(client.clientId))
  expect(new URL(page.url).pathname).toBe('/login')
})

test.each([
  { name: 'pages of the account', url: () => `${ISSUER}/account/sessions` },
  { name: 'authorization requests', url: (clientId: string) => authorizeUrl(clientId) }
])('$name write the last use at most every five minutes', async ({ url }) => {
  const { clientId } = await server.createClient({ consent: 'remember' })
  const { browser, page } = await openConsent(server, clientId)
  await browser.submitOnly(page, { decision: 'allow' })
  const times = new Set<number>()
  for (let minute = 0; minute < 24; minute++) {
    clock.advance(MINUTE)
    await browser.get(url(clientId))
    await writeRest(server)
    times.add((await seenAt(browser))?.getTime() ?? 0)
  }
  // A use is written when the stored one is more than five minutes old.
  const written = [...times]
  expect(written.slice(1).map((time, index) => time - (written[index] ?? 0))).toEqual(Array(4).fill(360_000))
})

test('a request does not wait for the write of the last use, and does not fail with it', async () => {
  const { paused, pauses } = await startPausingInstance(server)
  const browser = await signedInBrowser(server)
  const before = await seenAt(browser)
  clock.advance(10 * MINUTE)
  pauses.next = {
    before: 'note_session_use',
    run: async () => {
      throw new Error('no write')
    }
  }
  const there = browserAt(paused, browser)
  for (const url of [`${ISSUER}/account/sessions`, authorizeUrl(client.clientId)])
    expect((await there.get(url)).statusCode).toBeLessThan(400)
  expect(pauses.next).toBeDefined()
  await writeRest(paused)
  expect([pauses.next, await seenAt(browser)]).toEqual([undefined, before])
  expect((await there.get(`${ISSUER}/account/sessions`)).statusCode).toBe(200)
  await writeRest(paused)
  expect((await seenAt(browser))?.getTime()).toBe((before?.getTime() ?? 0) + 600_000)
  await paused.close()
})
