import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { newOpaqueToken } from '@valetkey/oauth-protocol'
import { operatorAuthenticationLimit } from '../../../src/platform/rate-limits/rules.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Administration, startAdministration } from '../../support/administration.js'
import { collectAuditLog } from '../../support/audit-log.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { clearCounters, setCounter } from '../../support/counters.js'
import { freePort } from '../../support/failing-network.js'
import { startInstance } from '../../support/instance.js'

const { logger, eventsOf } = collectAuditLog()
const ADDRESS = '127.0.0.1'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
})
beforeEach(() => clearCounters(server))
afterAll(() => server.close())

const get = (headers: Record<string, string | string[]>, url = '/admin/operator-keys') =>
  server.operatorServer.inject({ url, headers })

const unknownKey = () => newOpaqueToken('operatorKey', randomBytes)

async function revokedKey(): Promise<string> {
  const other = await startAdministration(server, `gone ${randomBytes(4).toString('hex')}`)
  await admin.call('DELETE', `/operator-keys/${other.actor.operatorKeyId}`)
  return other.operatorKey
}

test('a live key is accepted', async () => {
  const answer = await get({ authorization: `bearer ${admin.operatorKey}` })
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
})

describe('without a key', () => {
  test.each([
    { name: 'no header', headers: {} },
    { name: 'another scheme', headers: { authorization: 'Basic YTpi' } }
  ])('$name: 401 and a challenge without an error code (RFC 6750 3.1)', async ({ headers }) => {
    const answer = await get(headers)
    expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="valetkey administration"'
    ])
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
  })

  test.each(['/admin', '/admin/', '/admin/nowhere', '/admin/openapi.json', '/admin/users/x'])(
    '%s is 401 without a key, whether or not the route exists',
    async (url) => {
      expect((await get({}, url)).statusCode).toBe(401)
      expect((await server.operatorServer.inject({ method: 'DELETE', url })).statusCode).toBe(401)
    }
  )

  test('the body is not read: a request with a body that is too large is 401', async () => {
    const request = { method: 'POST', url: '/admin/operator-keys', payload: { name: 'x'.repeat(20_000) } } as const
    expect((await server.operatorServer.inject(request)).statusCode).toBe(401)
  })

  test('a request without a key does not count as a failure', async () => {
    await setCounter(server, operatorAuthenticationLimit(ADDRESS), 100)
    expect((await get({})).statusCode).toBe(401)
  })
})

describe('an invalid key', () => {
  test.each([
    { name: 'unknown', key: async () => unknownKey(), reason: 'unknown_operator_key' },
    { name: 'revoked', key: revokedKey, reason: 'revoked_operator_key' },
    { name: 'a client secret', key: async () => newOpaqueToken('clientSecret', randomBytes), reason: 'never_issued' },
    { name: 'truncated', key: async () => admin.operatorKey.slice(0, -1), reason: 'never_issued' },
    { name: 'not a token', key: async () => '"quoted"', reason: 'malformed' }
  ])('$name: 401 invalid_token, the same response for all, and the cause in the audit event', async (about) => {
    const answer = await get({ authorization: `Bearer ${await about.key()}` })
    expect(answer.statusCode).toBe(401)
    expect(answer.json()).toEqual({
      title: 'Unauthorized',
      status: 401,
      detail: 'The operator key is not valid.',
      error: 'invalid_token'
    })
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    expect(eventsOf(answer)).toEqual([{ event: 'operator_refused', address: ADDRESS, reason: about.reason }])
  })

  test('two Authorization headers: 400 (RFC 6750 3.1)', async () => {
    const both = [`Bearer ${admin.operatorKey}`, `Bearer ${unknownKey()}`]
    const answer = await get({ authorization: both })
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request'])
  })

  test('a key in the query: 400, even with a key in the header (RFC 6750 2.3)', async () => {
    const url = `/admin/operator-keys?access_token=${admin.operatorKey}`
    const answer = await get({ authorization: `Bearer ${admin.operatorKey}` }, url)
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request'])
  })

  test('the 101st failure within a minute from one address is 429, and a valid key is still accepted', async () => {
    await setCounter(server, operatorAuthenticationLimit(ADDRESS), 99)
    const wrong = { authorization: `Bearer ${unknownKey()}` }
    expect((await get(wrong)).statusCode).toBe(401)
    const rateLimited = await get(wrong)
    expect([rateLimited.statusCode, Number(rateLimited.headers['retry-after']) > 0]).toEqual([429, true])
    expect(eventsOf(rateLimited)).toEqual([
      { event: 'operator_refused', address: ADDRESS, reason: 'unknown_operator_key' }
    ])
    expect((await get({ authorization: `Bearer ${admin.operatorKey}` })).statusCode).toBe(200)
    const elsewhere = { url: '/admin/operator-keys', remoteAddress: '192.0.2.9', headers: wrong }
    expect((await server.operatorServer.inject(elsewhere)).statusCode).toBe(401)
  })
})

test('while Redis is unavailable, a valid key is accepted and an invalid one is 503', async () => {
  const redis = connectRedis(`redis://127.0.0.1:${await freePort()}`)
  const instance = await startInstance(server, { redis })
  const ask = async (key: string) => {
    const request = { url: '/admin/operator-keys', headers: { authorization: `Bearer ${key}` } }
    return (await instance.operatorServer.inject(request)).statusCode
  }
  expect([await ask(admin.operatorKey), await ask(unknownKey())]).toEqual([200, 503])
  await instance.close()
  redis.disconnect()
})

test('the API is on the operator listener only', async () => {
  const headers = { authorization: `Bearer ${admin.operatorKey}` }
  for (const listener of [server.publicServer, server.internalServer]) {
    expect((await listener.inject({ url: '/admin/operator-keys', headers })).statusCode).toBe(404)
  }
})
