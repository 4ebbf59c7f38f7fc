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
  // A user, a client and a browser for which the code comes at once.
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

/** What comes of a request, when it leaves neither a grant nor a code behind. */
async function refusedTo(opening: () => Promise<{ url: string }>): Promise<string> {
  const before = [await grants(), await codes()]
  const { url } = await opening()
  expect([await grants(), await codes()]).toEqual(before)
  return new URL(url).pathname
}

test('the code comes at once, and its exchange brings one grant', async () => {
  const before = await grants()
  const answer = await browser.get(authorizeUrl(client.clientId))
  const { code = '' } = responseParameters(answer)
  expect(code).toMatch(/^vk_ac_/)
  expect(await grants()).toBe(before)
  expect((await exchange(server, client, code)).statusCode).toBe(200)
  expect(await grants()).toBe(before + 1)
})

describe('a session that has ended issues nothing, whatever is remembered: sign in', () => {
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

  test.each(endings.slice(0, 5))('$name, while the request was under way', async ({ end }) => {
    const there = new Browser(paused.publicServer, paused.config.issuer)
    for (const [name, value] of browser.cookies) there.cookies.set(name, value)
    pauses.next = { before: 'read_allowance', run: end }
    expect(await refusedTo(() => there.open(authorizeUrl(client.clientId)))).toBe('/login')
    expect(pauses.next).toBeUndefined()
  })
})

describe('a consent that does not cover the request: ask', () => {
  test.each([
    { name: 'it was withdrawn', text: 'delete from consents where user_id = $1', scope: 'files.read' },
    { name: 'it is smaller', text: 'select $1::uuid', scope: 'files.read files.read:images' }
  ])('$name', async ({ name, text, scope }) => {
    await run(`test ${name}`, text)
    expect(await refusedTo(() => browser.open(authorizeUrl(client.clientId, { scope })))).toBe('/consent')
  })
})

test('a client that is disabled while the request is under way: access_denied, as when somebody has just allowed it', async () => {
  const there = new Browser(paused.publicServer, paused.config.issuer)
  for (const [name, value] of browser.cookies) there.cookies.set(name, value)
  pauses.next = { before: 'read_allowance', run: () => disable(server, 'client', client.clientId) }
  const before = await codes()
  const answer = await there.get(authorizeUrl(client.clientId))
  expect(responseParameters(answer)).toMatchObject({ error: 'access_denied', state: 'a state' })
  expect(await codes()).toBe(before)
})

test.each([
  { name: 'a session that is alive is named', end: async () => {}, named: true },
  { name: 'one that has ended is not', end: () => disable(server, 'user', userId), named: false }
])('who asked for what is refused: $name in the audit record', async ({ end, named }) => {
  await end()
  const answer = await browser.get(authorizeUrl(client.clientId, { scope: 'files.write' }))
  expect(responseParameters(answer)).toMatchObject({ error: 'invalid_scope' })
  // Writes what is queued; the trail works on.
  await server.deps.audit.close()
  const text = "select user_id from audit_events where request_id = $1 and event = 'authorization_refused'"
  const values = [answer.headers['x-request-id']]
  expect(await server.database.query({ name: 'test_refusal', text, values })).toEqual([
    { user_id: named ? userId : null }
  ])
})
