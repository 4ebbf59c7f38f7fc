import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ISSUER, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { APPS, sendNewApp, startDeveloperServer } from '../../support/developer.js'
import { PASSWORD } from '../../support/flow.js'
import { visibleText } from '../../support/page-content.js'
import { fromForm, signedInBrowser } from '../../support/pages.js'

let server: TestServer
let alice: Browser
let bob: Browser

beforeAll(async () => {
  server = await startDeveloperServer()
  await Promise.all(['alice', 'bob'].map((name) => server.createUser(name, PASSWORD)))
  alice = await signedInBrowser(server)
  bob = await signedInBrowser(server, 'bob')
})
afterAll(() => server.close())

test('after 120 forms of a user in a minute, valid or not, no form is read, and other users are not affected', async () => {
  const page = await alice.open(`${ISSUER}/account/password`)
  const forms = () => Promise.all(Array.from({ length: 130 }, () => alice.submitOnly(page, { csrf_token: 'invalid' })))
  // The minute may end meanwhile: then a second round is within one minute.
  let answers = await forms()
  if (answers.filter(({ statusCode }) => statusCode === 429).length < 10) answers = await forms()
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  expect(refused.length).toBeGreaterThanOrEqual(10)
  expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0)
  expect(visibleText(refused[0]?.body ?? '')).toContain('Too many forms in one minute')
  // The body is not read: this one would be refused with 400.
  const unread = await sendNewApp(server, alice, {}, { 'content-length': '1' })
  expect(unread.statusCode).toBe(429)
  expect((await sendNewApp(server, bob)).statusCode).toBe(200)
  expect((await bob.open(APPS)).statusCode).toBe(200)
  expect((await alice.open(APPS)).statusCode).toBe(200)
  // Signing out is no form of the account pages.
  const signedOut = await alice.submit(fromForm(await alice.open(`${ISSUER}/account/apps`), '/logout'), {})
  expect(signedOut.statusCode).toBe(200)
})
