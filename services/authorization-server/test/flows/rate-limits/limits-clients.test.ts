import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { clientAuthenticationLimit } from '../../../src/platform/rate-limits/rules.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters, countCounters, counterOf, setCounter } from '../../support/counters.js'
import { freePort } from '../../support/failing-network.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'

const HERE = '192.0.2.1'
const ELSEWHERE = '198.51.100.1'

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
afterAll(() => server.close())
afterEach(() => clearCounters(server))

type Call = { url?: string; credentials?: Credentials; address?: string; form?: Record<string, string> }

const wrong = (clientId = client.clientId): Credentials => ({ clientId, clientSecret: `vk_cs_${'x'.repeat(49)}` })

/** Sends an unknown code: 400 with correct credentials, 401 with wrong ones. */
async function call(
  change: Call = {},
  instance: Pick<TestServer, 'publicServer'> = server
): Promise<LightMyRequestResponse> {
  const { url = '/token', credentials = wrong(), address = HERE, form = {} } = change
  return instance.publicServer.inject({
    method: 'POST',
    url,
    remoteAddress: address,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ grant_type: 'other', ...bodyCredentials(credentials), ...form }).toString()
  })
}

const statusOf = async (change: Call = {}) => (await call(change)).statusCode

test('100 failures a minute from an address; the next is 429 with Retry-After (contract "Limits", "Errors")', async () => {
  const statuses: number[] = []
  for (let round = 1; round <= 11; round++)
    statuses.push(...(await Promise.all(Array.from({ length: 10 }, () => statusOf()))))
  expect(statuses.filter((status) => status === 401)).toHaveLength(100)
  const answer = await call()
  expect(answer.statusCode).toBe(429)
  expect(answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
  expect(answer.headers['cache-control']).toBe('no-store')
  const seconds = Number(answer.headers['retry-after'])
  expect(seconds).toBeGreaterThan(50)
  expect(seconds).toBeLessThanOrEqual(60)
})

test('unknown clients, wrong secrets and missing credentials count together, at both endpoints', async () => {
  await setCounter(server, clientAuthenticationLimit(HERE), 96)
  expect(await statusOf({ credentials: wrong('unknown') })).toBe(401)
  expect(await statusOf({ url: '/oauth/revoke' })).toBe(401)
  expect(await statusOf({ credentials: { clientId: '', clientSecret: '' } })).toBe(401)
  expect(await statusOf({ credentials: { ...client, clientSecret: '' } })).toBe(401)
  for (const url of ['/token', '/oauth/revoke']) expect(await statusOf({ url, credentials: wrong('other') })).toBe(429)
})

test('invented client ids create one small counter per address, and refused attempts create none', async () => {
  for (let id = 0; id < 30; id++) await statusOf({ credentials: wrong(`made_up_${id}`) })
  const [key = '', ...others] = await server.redis.keys('vk:attempts:*')
  expect(others).toEqual([])
  // Redis adds about 100 bytes.
  expect(key.length).toBeLessThan(70)
  await clearCounters(server)
  await setCounter(server, clientAuthenticationLimit(HERE), 100)
  expect(await statusOf({ credentials: wrong('another') })).toBe(429)
  expect([await countCounters(server), await counterOf(server, clientAuthenticationLimit(HERE))]).toEqual([1, 100])
})

test('correct credentials are never refused because of failures', async () => {
  await setCounter(server, clientAuthenticationLimit(HERE), 5_000)
  expect(await statusOf()).toBe(429)
  const answer = await call({ credentials: client })
  expect([answer.statusCode, answer.json().error]).toEqual([400, 'unsupported_grant_type'])
  expect(await statusOf({ credentials: client, url: '/oauth/revoke', form: { token: 'x' } })).toBe(200)
})

test('failures of one address do not affect another: a client cannot be locked out', async () => {
  await setCounter(server, clientAuthenticationLimit(HERE), 5_000)
  expect(await statusOf({ address: ELSEWHERE })).toBe(401)
  expect(await statusOf({ address: ELSEWHERE, credentials: client })).toBe(400)
})

test('only failed authentication counts, not a bad grant or an unreadable request', async () => {
  await call({ credentials: client })
  await exchange(server, client, 'vk_ac_unknown')
  await call({ form: { grant_type: '' }, credentials: client })
  const twice = `client_id=a&client_id=b&grant_type=other`
  await server.publicServer.inject({
    method: 'POST',
    url: '/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: twice
  })
  expect(await countCounters(server)).toBe(0)
})

test('correct credentials need no Redis: refresh, revocation and error responses work without it', async () => {
  const tokens = (await exchange(server, client, await obtainCode(server, client))).json()
  const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const instance = await startInstance({ ...server, redis: nowhere })
  const refreshed = await refresh(instance, client, tokens.refresh_token)
  expect(refreshed.statusCode).toBe(200)
  expect((await call({ credentials: client }, instance)).statusCode).toBe(400)
  const revoked = await instance.publicServer.inject({
    method: 'POST',
    url: '/oauth/revoke',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(client) },
    payload: `token=${refreshed.json().access_token}`
  })
  expect(revoked.statusCode).toBe(200)
  // A failure that cannot be counted gets 503 (contract "Errors").
  const uncounted = await call({}, instance)
  expect([uncounted.statusCode, uncounted.json().error]).toEqual([503, 'temporarily_unavailable'])
  expect(uncounted.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  await instance.close()
  nowhere.disconnect()
})

test('the window is a minute from the first failure', async () => {
  await call()
  const left = await server.redis.pttl(`vk:attempts:${clientAuthenticationLimit(HERE).name}`)
  expect(left).toBeGreaterThan(55_000)
  expect(left).toBeLessThanOrEqual(60_000)
})

test('names of counters contain neither client ids nor addresses', async () => {
  await call()
  const keys = await server.redis.keys('vk:attempts:*')
  expect(keys).toHaveLength(1)
  expect(keys.join()).not.toMatch(new RegExp(`${client.clientId}|${HERE}`))
})
