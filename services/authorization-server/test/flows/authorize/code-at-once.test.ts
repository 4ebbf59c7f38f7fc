import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { Browser } from '../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../support/flow.js'
import { openConsent, signedInBrowser, signOut } from '../../support/pages.js'
import { startPausingInstance } from '../../support/pausing-instance.js'
import { deleteRow, disable } from '../../support/tokens.js'

let server: TestServer
let paused: TestServer
let pauses: Awaited<ReturnType<typeof startPausingInstance>>['pauses']
let client: Credentials
let username: string
let userId: string
let browser: Browser

beforeAll(async () => {
  server = await startTestServer()
  const started = await startPausingInstance(server)
  paused = started.paused
  pauses = started.pauses
})
beforeEach(async () => {
  // A user with a remembered consent, and the browser of the user.
  username = `user-${Math.random()}`
  userId = await server.createUser(username, PASSWORD)
  client = await server.createClient({ consent: 'remember' })
  const opened = await openConsent(server, client.clientId, { username })
  browser = opened.browser
  await browser.submitOnly(opened.page, { decision: 'allow' })
})
afterAll(async () => {
  await paused.close()
  await server.close()
})

const run = (name: string, text: string) => server.database.query({ name, text, values: [userId] })

const grants = async () => (await run('test_grants_of', 'select 1 from grants where user_id = $1')).length
const codes = async () => (await server.redis.keys('vk:code:*')).length

/** The path that a request ends at. It must make no grant and no code. */
async function refusedTo(opening: () => Promise<{ url: string }>): Promise<string> {
  const before = [await grants(), await codes()]
  const { url } = await opening()
  expect([await grants(), await codes()]).toEqual(before)
  return new URL(url).pathname
}

test('a remembered consent gives a code without a page, and its exchange makes one grant', async () => {
  const before = await grants()
  const answer = await browser.get(authorizeUrl(client.clientId))
  const { code = '' } = responseParameters(answer)
  expect(code).toMatch(/^vk_ac_/)
  expect(await grants()).toBe(before)
  expect((await exchange(server, client, code)).statusCode).toBe(200)
  expect(await grants()).toBe(before + 1)
})

describe('a session that has ended gets the sign-in page, although the consent is remembered', () => {
  const endings: { name: string; end(): Promise<unknown> }[] = [
    { name: 'the user was disabled', end: () => disable(server, 'user', userId) },
    {
      name: 'the user was disabled, generation unchanged',
      end: () => run('test_only_disable', 'update users set disabled_at = now() where user_id = $1')
    },
    { name: 'the user was deleted', end: () => deleteRow(server, 'user', userId) },
    {
      name: 'the user has a new password',
      end: () => run('test_new_password', 'update users set generation = generation + 1 where user_id = $1')
    },
    {
      name: 'the user signed out everywhere, at another browser',
      end: async () => signOut(await signedInBrowser(server, username), { everywhere: 'on' })
    },
    { name: 'the user signed out in this browser', end: () => signOut(browser) }
  ]

  test.each(endings)('$name', async ({ end }) => {
    await end()
    expect(await refusedTo(() => browser.open(authorizeUrl(client.clientId)))).toBe('/login')
  })

  test.each(endings.slice(0, 5))('$name, during the request', async ({ end }) => {
    const there = new Browser(paused.publicServer, paused.config.issuer)
    for (const [name, value] of browser.cookies) there.cookies.set(name, value)
    pauses.next = { before: 'read_allowance', run: end }
    expect(await refusedTo(() => there.open(authorizeUrl(client.clientId)))).toBe('/login')
    expect(pauses.next).toBeUndefined()
  })
})

describe('a consent that does not cover the request: the consent page is shown', () => {
  test.each([
    { name: 'it was withdrawn', text: 'delete from consents where user_id = $1', scope: 'files.read' },
    { name: 'it is smaller', text: 'select $1::uuid', scope: 'files.read files.read:images' }
  ])('$name', async ({ name, text, scope }) => {
    await run(`test ${name}`, text)
    expect(await refusedTo(() => browser.open(authorizeUrl(client.clientId, { scope })))).toBe('/consent')
  })
})

test('a client that is disabled during the request: access_denied', async () => {
  const there = new Browser(paused.publicServer, paused.config.issuer)
  for (const [name, value] of browser.cookies) there.cookies.set(name, value)
  pauses.next = { before: 'read_allowance', run: () => disable(server, 'client', client.clientId) }
  const before = await codes()
  const answer = await there.get(authorizeUrl(client.clientId))
  expect(responseParameters(answer)).toMatchObject({ error: 'access_denied', state: 'a state' })
  expect(await codes()).toBe(before)
})

test.each([
  { name: 'valid session: recorded', end: async () => {}, named: true },
  { name: 'ended session: not recorded', end: () => disable(server, 'user', userId), named: false }
])('user of a refused request in the audit record: $name', async ({ end, named }) => {
  await end()
  const answer = await browser.get(authorizeUrl(client.clientId, { scope: 'files.write' }))
  expect(responseParameters(answer)).toMatchObject({ error: 'invalid_scope' })
  // Writes the queued events; the trail can be used afterwards.
  await server.deps.audit.close()
  const text = "select user_id from audit_events where request_id = $1 and event = 'authorization_refused'"
  const values = [answer.headers['x-request-id']]
  expect(await server.database.query({ name: 'test_refusal', text, values })).toEqual([
    { user_id: named ? userId : null }
  ])
})
