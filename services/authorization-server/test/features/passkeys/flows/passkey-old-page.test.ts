import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { signInAddressLimit } from '../../../../src/platform/rate-limits/rules.js'
import { collectAuditLog } from '../../../support/audit-log.js'
import { ISSUER, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { stopClock } from '../../../support/clock.js'
import { clearCounters, counterOf } from '../../../support/counters.js'
import { PASSWORD } from '../../../support/flow.js'
import { visibleText } from '../../../support/page-content.js'
import { optionsOn, sendPasskey, userWithPasskey } from '../support/passkeys.js'
import type { SoftwareAuthenticator } from '../support/software-authenticator.js'

// A sign-in page that was open for longer than its challenge is valid.
const clock = stopClock()
const { logger, eventsOf } = collectAuditLog()
let server: TestServer
let alice: SoftwareAuthenticator

beforeAll(async () => {
  server = await startTestServer({ LOG_LEVEL: 'info' }, logger)
  await server.createUser('alice', PASSWORD)
  alice = (await userWithPasskey(server)).authenticator
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

async function openSignIn() {
  const browser = server.newBrowser()
  return { browser, page: await browser.open(`${ISSUER}/login`) }
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  return (await browser.open(`${ISSUER}/account/apps`)).body.includes('signed in as')
}

test('the script of an old page gets another challenge, with which the user signs in', async () => {
  const { browser, page } = await openSignIn()
  clock.advance(86_400)
  const answer = await browser.get(`${ISSUER}/login/passkey/options`)
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  expect(Object.keys(answer.json())).toEqual(Object.keys(optionsOn(page)))
  await sendPasskey(browser, page, alice.get(answer.json()))
  expect(await isSignedIn(browser)).toBe(true)
})

test('a response to the old challenge is no failed sign-in: nothing is counted, and the page has another challenge', async () => {
  const limit = signInAddressLimit('127.0.0.1')
  await clearCounters(server)
  const { browser, page } = await openSignIn()
  clock.advance(300)
  const again = await sendPasskey(browser, page, alice.get(optionsOn(page)))
  expect(again.statusCode).toBe(422)
  expect(visibleText(again.body)).toContain('This page was open for a long time. Please use your passkey once more.')
  expect(eventsOf(again)).toEqual([{ event: 'passkey_challenge_expired' }])
  expect(await counterOf(server, limit)).toBe(0)
  await sendPasskey(browser, again, alice.get(optionsOn(again)))
  expect(await isSignedIn(browser)).toBe(true)
})

test('a response to the old challenge opens no session, however often it is sent', async () => {
  const { browser, page } = await openSignIn()
  const response = alice.get(optionsOn(page))
  clock.advance(301)
  for (let times = 0; times < 3; times += 1) await sendPasskey(browser, page, response)
  expect(await isSignedIn(browser)).toBe(false)
})
