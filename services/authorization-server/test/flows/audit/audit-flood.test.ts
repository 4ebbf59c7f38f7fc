import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { startAdministration } from '../../support/administration.js'
import { auditRows, clearAuditRows, eventsIn, isSingle, rowsOf } from '../../support/audit-rows.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { clearCounters } from '../../support/counters.js'
import { authorizeUrl, bodyCredentials, PASSWORD } from '../../support/flow.js'
import { attemptSignIn } from '../../support/sign-in.js'
import { holdTimers } from '../../support/stopped-timers.js'

const HERE = '192.0.2.1'
const ELSEWHERE = '198.51.100.1'
const MINUTE_MS = 60_000
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

// The audit trail ends a minute only when a test reads the rows.
afterAll(holdTimers(MINUTE_MS))

let server: TestServer
let client: Credentials
let otherClient: Credentials
let publicClient: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  otherClient = await server.createClient()
  publicClient = await server.createClient({ type: 'public', requiresPkce: true })
})
afterAll(() => server.close())
beforeEach(async () => {
  await clearAuditRows(server)
  await clearCounters(server)
})

type Send = (address: string) => Promise<LightMyRequestResponse>

const wrongSecretOf = ({ clientId }: Credentials): Credentials => ({ clientId, clientSecret: 'wrong' })

function askForTokens(credentials: Credentials, address: string, headers = FORM): Promise<LightMyRequestResponse> {
  const form = { grant_type: 'authorization_code', code: 'vk_ac_bad', redirect_uri: 'https://app.example/callback' }
  const payload = new URLSearchParams({ ...form, ...bodyCredentials(credentials) }).toString()
  return server.publicServer.inject({ method: 'POST', url: '/token', remoteAddress: address, headers, payload })
}

function authorize(clientId: string, change: Record<string, string>, address: string) {
  const { pathname, search } = new URL(authorizeUrl(clientId, change))
  return server.publicServer.inject({ url: pathname + search, remoteAddress: address })
}

function unknownClient(address: string): Promise<LightMyRequestResponse> {
  return authorize('made-up', {}, address)
}

/** Sequentially, so that the order is known. */
async function flood(send: Send, addresses: readonly string[]): Promise<LightMyRequestResponse[]> {
  const answers: LightMyRequestResponse[] = []
  for (const address of addresses) answers.push(await send(address))
  return answers
}

const times = (count: number, address = HERE): string[] => Array<string>(count).fill(address)
const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `10.0.${index >> 8}.${index & 255}`)

describe('one address floods: few rows, and their counts are exact', () => {
  test.each<{ name: string; count: number; send: Send; event: string; rows: number }>([
    {
      name: 'wrong secret of a registered client',
      count: 120,
      send: (address) => askForTokens(wrongSecretOf(client), address),
      event: 'request_refused',
      rows: 62
    },
    {
      name: 'unknown client at /token',
      count: 120,
      send: (address) => askForTokens({ clientId: 'made-up', clientSecret: 'x' }, address),
      event: 'request_refused',
      rows: 7
    },
    { name: 'unknown client', count: 40, send: unknownClient, event: 'authorization_refused', rows: 6 },
    {
      name: 'wrong redirect URI',
      count: 80,
      send: (address) => authorize(client.clientId, { redirect_uri: 'https://evil.example' }, address),
      event: 'authorization_refused',
      rows: 61
    },
    {
      name: 'unknown scope',
      count: 80,
      send: (address) => authorize(client.clientId, { scope: 'made-up' }, address),
      event: 'authorization_refused',
      rows: 61
    },
    {
      name: 'form of another site',
      count: 40,
      send: (address) =>
        server.publicServer.inject({
          method: 'POST',
          url: '/login',
          remoteAddress: address,
          payload: 'username=alice&password=x',
          headers: { ...FORM, origin: 'https://evil.example' }
        }),
      event: 'form_refused',
      rows: 6
    },
    {
      name: 'wrong password',
      count: 24,
      send: (address) => attemptSignIn(server, { username: 'alice', password: 'wrong', address }),
      event: 'sign_in_failed',
      rows: 22
    },
    {
      name: 'wrong operator key',
      count: 120,
      send: (address) =>
        server.operatorServer.inject({
          url: '/admin/users',
          remoteAddress: address,
          headers: { authorization: 'Bearer vk_ok_wrong' }
        }),
      event: 'operator_refused',
      rows: 6
    },
    {
      name: 'malformed request',
      count: 40,
      send: (address) => askForTokens(client, address, { 'content-type': 'application/json' }),
      event: 'request_refused',
      rows: 6
    },
    {
      name: 'wrong credential of a resource server',
      count: 40,
      send: (address) =>
        server.internalServer.inject({
          method: 'POST',
          url: '/introspect',
          remoteAddress: address,
          payload: 'token=x',
          headers: { ...FORM, authorization: `Basic ${Buffer.from('rs_x:wrong').toString('base64')}` }
        }),
      event: 'request_refused',
      rows: 6
    },
    {
      name: 'public client, which shows no secret',
      count: 80,
      send: (address) =>
        server.publicServer.inject({
          method: 'POST',
          url: '/token',
          remoteAddress: address,
          headers: FORM,
          payload: `grant_type=refresh_token&refresh_token=vk_rt_bad&client_id=${publicClient.clientId}`
        }),
      event: 'request_refused',
      rows: 61
    }
  ])('$name', async ({ count, send, event, rows: most }) => {
    await flood(send, times(count))
    const rows = await auditRows(server)
    expect(new Set(rows.map((row) => row.event))).toEqual(new Set([event]))
    expect(eventsIn(rows)).toBe(count)
    expect(rows.length).toBeLessThanOrEqual(most)
  })

  test('the addresses of one IPv6 /64 count as one, and the row names the network', async () => {
    await flood(
      unknownClient,
      Array.from({ length: 100 }, (_, index) => `2001:db8:1:2::${index.toString(16)}`)
    )
    const rows = await auditRows(server)
    expect([rows.length, eventsIn(rows)]).toEqual([6, 100])
    expect(rows.at(-1)).toMatchObject({
      address: '2001:db8:1:2::/64',
      details: { reason: 'unknown_client', count: 95 }
    })
  })
})

test('300 addresses: at most 645 rows a minute from all of them, and their counts are exact', async () => {
  const each: Send[] = [
    unknownClient,
    (address) => authorize(client.clientId, { scope: 'made-up' }, address),
    (address) => askForTokens(wrongSecretOf(otherClient), address)
  ]
  for (const send of each) await flood(send, addresses(300))
  const rows = await auditRows(server)
  expect(eventsIn(rows)).toBe(900)
  expect(rows.length).toBeLessThanOrEqual(645)
  const remainders = rows.filter(({ address }) => address === null)
  expect(remainders.map(({ event }) => event).sort()).toEqual(['authorization_refused', 'request_refused'])
})

describe('the reason for a refused request is found by its id', () => {
  async function found(answer: LightMyRequestResponse): Promise<object[]> {
    await server.deps.audit.close()
    const id = String(answer.headers['x-request-id'])
    const { out } = await runCommand(server.database, ['audit', 'tail', '--request-id', id, '--json'])
    return JSON.parse(out).events.map(({ details }: { details: object }) => details)
  }

  test('while another address floods and names the same client', async () => {
    await flood((address) => askForTokens(wrongSecretOf(client), address), times(60))
    await flood((address) => authorize(client.clientId, { scope: 'made-up' }, address), times(60))
    await flood(unknownClient, times(60))
    expect(await found(await askForTokens(wrongSecretOf(client), ELSEWHERE))).toEqual([{ reason: 'wrong_secret' }])
    const refused = await authorize(client.clientId, { redirect_uri: 'https://app.example/other' }, ELSEWHERE)
    expect(await found(refused)).toEqual([{ reason: 'redirect_uri_mismatch' }])
  })

  test('while 150 addresses flood without a registered client', async () => {
    await flood(unknownClient, addresses(150))
    expect(await found(await askForTokens(wrongSecretOf(client), ELSEWHERE))).toEqual([{ reason: 'wrong_secret' }])
  })

  test('while 150 addresses flood and name another client', async () => {
    await flood((address) => authorize(otherClient.clientId, { scope: 'made-up' }, address), addresses(150))
    expect(await found(await askForTokens(wrongSecretOf(client), ELSEWHERE))).toEqual([{ reason: 'wrong_secret' }])
  })

  test('for an authenticated client, while 150 addresses flood and name it', async () => {
    await flood((address) => authorize(client.clientId, { scope: 'made-up' }, address), addresses(150))
    expect(await found(await askForTokens(client, ELSEWHERE))).toMatchObject([{ reason: 'malformed_code' }])
  })
})

test('an authenticated client that repeats bad codes has 300 rows a minute; the rest is counted; others keep theirs', async () => {
  const answers = await flood((address) => askForTokens(client, address), times(340))
  const other = await askForTokens(otherClient, HERE)
  const rows = await auditRows(server)
  expect(eventsIn(rows)).toBe(341)
  for (const answer of [...answers.slice(0, 300), other]) expect(rowsOf(rows, answer).map(isSingle)).toEqual([true])
  expect(rows.filter((row) => !isSingle(row))).toMatchObject([
    { client_id: client.clientId, address: HERE, details: { reason: 'malformed_code', count: 40 } }
  ])
})

test('a row with a count is listed as text, as JSON, through the API, and with every filter', async () => {
  await flood((address) => askForTokens(client, address), times(310))
  const [first] = (await auditRows(server)).filter((row) => !isSingle(row))
  const [secretId, requestId] = [String(first?.details.secretId), String(first?.request_id)]
  const tail = (...args: string[]) => runCommand(server.database, ['audit', 'tail', ...args])
  const { out } = await tail('--secret', secretId, '--limit', '1')
  expect(out).toMatch(/ request_refused clientId=\S+ count=10 reason=malformed_code secretId=\S+ address=192\.0\.2\.1 /)
  const filters = ['--client', client.clientId, '--event', 'request_refused', '--request-id', requestId]
  const { events } = JSON.parse((await tail(...filters, '--secret', secretId, '--since', '1h', '--json')).out)
  expect(events).toMatchObject([{ address: HERE, details: { reason: 'malformed_code', secretId, count: 10 } }])
  const admin = await startAdministration(server)
  const query = `client_id=${client.clientId}&secret_id=${secretId}&request_id=${requestId}`
  expect((await admin.call('GET', `/audit?${query}`)).json().events).toEqual(events)
})
