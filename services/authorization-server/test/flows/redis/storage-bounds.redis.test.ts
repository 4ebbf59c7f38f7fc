import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { newOpaqueToken } from '@valetkey/oauth-protocol'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { dumpPostgres } from '../../support/dump-stores.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { HANDOFF } from '../../support/handoff.js'
import { signedInBrowser, signOut } from '../../support/pages.js'
import { countSessions, openSessionOf } from '../../support/sessions.js'
import { attemptSignIn } from '../../support/sign-in.js'

/** Failures that one address may make here: a tenth of the default of 100. */
const LIMITS_FACTOR = 0.1
const FAILURES = 10

let server: TestServer
let client: Credentials
let publicClient: Credentials

beforeAll(async () => {
  server = await startTestServer({ ...HANDOFF, LIMITS_FACTOR: String(LIMITS_FACTOR) })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  publicClient = await server.createClient({ type: 'public', requiresPkce: true })
})
beforeEach(async () => {
  await server.redis.flushdb()
})
afterAll(() => server.close())

type Stored = { key: string; bytes: number; ttl: number }

/** Every key of Redis, with the bytes that it takes there and the seconds that it has left. */
async function stored(): Promise<Stored[]> {
  const keys = (await server.redis.keys('*')).sort()
  return Promise.all(keys.map(async (key) => ({ key, bytes: await bytesOf(key), ttl: await server.redis.ttl(key) })))
}

const bytesOf = async (key: string) => Number(await server.redis.memory('USAGE', key))

const kindsOf = (keys: Stored[]) => [...new Set(keys.map(({ key }) => key.split(':').slice(0, 2).join(':')))]

/** All rows of Postgres except audit events and refused requests of clients, which have other limits and tests. */
async function rowsBesideAudit(): Promise<Record<string, string>> {
  const { audit_events: _audit, client_refusals: _refusals, ...others } = await dumpPostgres(server)
  return others
}

const LONG = 'x'.repeat(6_000)

/** The requests that are possible without a credential, each time with other values. */
const REQUESTS: Record<string, (address: string, count: number) => Promise<unknown>> = {
  'an authorization request': (address, count) =>
    get(address, authorizeUrl(client.clientId, { state: `${count}${LONG}` })),
  'an authorization request of a browser that keeps cookies': (address, count) =>
    get(address, authorizeUrl(client.clientId, { state: `${count}` }), { [COOKIES.browser]: randomId() }),
  'an authorization request that is refused': (address, count) => get(address, authorizeUrl(`unknown-${count}`)),
  'the sign-in page of a request': (address, count) =>
    get(address, `${pageUrl('/login', count)}&resume=${randomId()}`, {
      [COOKIES.browser]: randomId(),
      [COOKIES.session]: randomId()
    }),
  'the consent page of a request': (address, count) =>
    get(address, `${pageUrl('/consent', count)}&resume=${randomId()}`, {
      [COOKIES.browser]: randomId(),
      [COOKIES.session]: randomId()
    }),
  'a consent form': (address, count) =>
    post(address, `${pageUrl('/consent', count)}&resume=${randomId()}`, { decision: 'allow', answer_key: randomId() }),
  'the page of the account': (address) => get(address, `${ISSUER}/account/apps`, { [COOKIES.session]: randomId() }),
  'a sign-out form': (address) => post(address, `${ISSUER}/logout`, { everywhere: 'on' }),
  'a sign-in form': (address, count) =>
    attemptSignIn(server, { username: `${count}${LONG}`, password: 'wrong', address }),
  'a code of an unknown client': (address, count) =>
    post(address, '/token', { ...codeForm(), client_id: `unknown-${count}`, client_secret: LONG }),
  'a code with a wrong secret': (address) =>
    post(address, '/token', { ...codeForm(), client_id: client.clientId, client_secret: randomId() }),
  'a code of a public client': (address) =>
    post(address, '/token', { ...codeForm(), client_id: publicClient.clientId, code_verifier: 'v'.repeat(43) }),
  'a refresh token of a public client': (address) =>
    post(address, '/token', {
      grant_type: 'refresh_token',
      refresh_token: newOpaqueToken('refreshToken', randomBytes),
      client_id: publicClient.clientId
    }),
  'a revocation': (address, count) =>
    post(address, '/oauth/revoke', { token: randomId(), client_id: `unknown-${count}`, client_secret: 'wrong' }),
  'an error page': (address, count) => get(address, `${ISSUER}/errors/${count}`),
  'an address that leads nowhere': (address, count) => get(address, `${ISSUER}/${count}${LONG}`)
}

const randomId = () => randomBytes(32).toString('base64url')
const pageUrl = (step: string, count: number) =>
  authorizeUrl(client.clientId, { state: String(count) }).replace('/oauth/authorize', step)
const codeForm = () => ({
  grant_type: 'authorization_code',
  code: newOpaqueToken('authorizationCode', randomBytes),
  redirect_uri: 'https://app.example/callback'
})

const get = (remoteAddress: string, url: string, cookies: Record<string, string> = {}) =>
  server.publicServer.inject({
    method: 'GET',
    url: url.replace(ISSUER, ''),
    remoteAddress,
    cookies,
    headers: { accept: 'text/html' }
  })

const post = (remoteAddress: string, url: string, form: Record<string, string>) =>
  server.publicServer.inject({
    method: 'POST',
    url: url.replace(ISSUER, ''),
    remoteAddress,
    headers: { origin: ISSUER, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString()
  })

describe('data that anonymous requests can store', () => {
  test.each(Object.keys(REQUESTS))('%s: only small counters of failures with an expiry', async (name) => {
    const rows = await rowsBesideAudit()
    for (let count = 0; count < 2 * FAILURES; count++) await REQUESTS[name]?.('192.0.2.1', count)
    const keys = await stored()
    expect(kindsOf(keys).filter((kind) => kind !== 'vk:attempts')).toEqual([])
    for (const { bytes, ttl } of keys) {
      expect(bytes).toBeLessThan(200)
      expect([ttl > 0, ttl <= 900]).toEqual([true, true])
    }
    expect(await rowsBesideAudit()).toEqual(rows)
  })

  test.each([
    { name: 'one address', addressOf: () => '192.0.2.1', addresses: 1 },
    { name: 'one IPv6 subscriber', addressOf: (count: number) => `2001:db8::${count.toString(16)}`, addresses: 1 },
    { name: 'three addresses', addressOf: (count: number) => `192.0.2.${1 + (count % 3)}`, addresses: 3 }
  ])('$name, with all kinds of concurrent requests: a bounded number of counters', async ({ addressOf, addresses }) => {
    for (let count = 0; count < 4 * FAILURES; count++)
      await Promise.all(Object.values(REQUESTS).map((send) => send(addressOf(count), count)))
    const keys = await stored()
    // Each address has its failed sign-ins and client authentications, and what they named. Concurrent requests: a few more.
    const bound = addresses * (4 * FAILURES + 16)
    expect(kindsOf(keys)).toEqual(['vk:attempts'])
    expect(keys.length).toBeLessThan(bound)
    expect(keys.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(200 * bound)
  })
})

describe('sign-ins that leave for a login page or a provider', () => {
  test('one record with the query for an hour, and one list for each address', async () => {
    for (let count = 0; count < FAILURES; count++)
      await get(
        '192.0.2.1',
        authorizeUrl(client.clientId, { state: LONG }).replace('/oauth/authorize', '/login/handoff')
      )
    const keys = await stored()
    expect(kindsOf(keys).sort()).toEqual(['vk:attempt', 'vk:attempt-list'])
    expect(keys).toHaveLength(FAILURES + 1)
    for (const { bytes, ttl } of keys) {
      expect(bytes).toBeLessThan(9_000)
      expect([ttl > 0, ttl <= 3_600]).toEqual([true, true])
    }
  })

  test('an invalid or too long request stores nothing', async () => {
    await get('192.0.2.1', `${ISSUER}/login/handoff?client_id=unknown&state=${LONG}`)
    const long = authorizeUrl(client.clientId, { state: 'x'.repeat(8_000) })
    await get('192.0.2.1', long.replace('/oauth/authorize', '/login/handoff'))
    expect(await stored()).toEqual([])
  })
})

describe('data that a signed-in user can store', () => {
  const bytes = async (kinds: string[]) =>
    (await stored())
      .filter((each) => kinds.includes(kindsOf([each])[0] ?? ''))
      .reduce((sum, each) => sum + each.bytes + each.key.length, 0)

  test('many consent pages: only the last hundred, without the query', async () => {
    const browser = await signedInBrowser(server)
    const open = async (from: number, to: number) => {
      for (let count = from; count < to; count++)
        await browser.get(authorizeUrl(client.clientId, { state: `${count}${LONG}` }))
    }
    const kinds = ['vk:requests']
    await open(0, 120)
    const before = await bytes(kinds)
    expect(before).toBeLessThan(10_000)
    await open(120, 240)
    expect(await bytes(kinds)).toBeLessThanOrEqual(before)
    expect(kindsOf(await stored()).sort()).toEqual(['vk:requests'])
  })

  test('many sign-ins: only the last hundred sessions, and nothing in Redis', async () => {
    const userId = await server.createUser('busy', PASSWORD)
    for (let count = 0; count < 250; count++) await openSessionOf(server.database, userId)
    const [row] = await server.database.query<{ count: number; bytes: number }>({
      name: 'test_sessions_of',
      text: `select count(*)::integer as count, sum(pg_column_size(s))::integer as bytes
        from sessions s where user_id = $1`,
      values: [userId]
    })
    expect(row?.count).toBe(100)
    expect(row?.bytes).toBeLessThan(25_000)
    expect(await stored()).toEqual([])
  })

  test('repeated sign-in and sign-out ends no session of another browser', async () => {
    const before = await countSessions(server)
    const kept = await signedInBrowser(server)
    const other = await signedInBrowser(server)
    for (let count = 0; count < 3; count++)
      await other.submit(await signOut(other), { username: 'alice', password: PASSWORD })
    expect(await countSessions(server)).toBe(before + 2)
    expect((await kept.open(`${ISSUER}/account/apps`)).statusCode).toBe(200)
  })
})
