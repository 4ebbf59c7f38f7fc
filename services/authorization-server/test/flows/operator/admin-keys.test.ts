import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { newOpaqueToken } from '@valetkey/oauth-protocol'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { operatorAuthenticationLimit } from '../../../src/platform/rate-limits/rules.js'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../support/administration.js'
import { collectAuditLog, idOf } from '../../support/audit-log.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { clearCounters, setCounter } from '../../support/counters.js'
import { startInstance } from '../../support/instance.js'

const { logger, eventsOf } = collectAuditLog()
let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer({}, logger)
  admin = await startAdministration(server)
})
afterAll(() => server.close())

describe('audit', () => {
  beforeAll(async () => {
    for (const name of ['one', 'two', 'three', 'four']) await admin.call('POST', '/operator-keys', { name })
  })

  const read = async (query = '') => (await admin.call('GET', `/audit${query}`)).json()

  test('pages list each event once, newest first, with the documents of the command line', async () => {
    const { out } = await runCommand(server.database, ['audit', 'tail', '--json'])
    const seen: object[] = []
    let after = ''
    for (let page = 0; page < 3; page += 1) {
      const { events, next } = await read(`?limit=2${after}`)
      seen.push(...events)
      after = `&after=${next}`
    }
    expect([seen.toReversed(), after]).toEqual([JSON.parse(out).events, '&after=undefined'])
  })

  test('an event has actor, request id and address', async () => {
    const answer = await admin.call('POST', '/users', { username: 'alice', password: 'a password of words' })
    const { user_id } = answer.json()
    expect((await read(`?changes=true&subject=${user_id}`)).events).toHaveLength(1)
    const { events } = await read(
      `?user_id=${user_id}&event=user_created&since=1h&request_id=${answer.headers['x-request-id']}`
    )
    expect(events).toEqual([
      {
        event_id: expect.any(String),
        occurred_at: expect.stringMatching(/Z$/),
        event: 'user_created',
        request_id: answer.headers['x-request-id'],
        user_id,
        address: '127.0.0.1',
        details: { username: 'alice', actor: admin.actor }
      }
    ])
  })

  test('events of a trace are found by its id', async () => {
    const [trace, other] = ['4bf92f3577b34da6a3ce929d0e0e4736', 'f'.repeat(32)]
    await server.database.query({
      name: 'test_insert_traced_event',
      text: `insert into audit_events (occurred_at, event, trace_id, details) values (now(), 'code_issued', $1, '{}')`,
      values: [trace]
    })
    expect((await read(`?trace_id=${trace}`)).events).toMatchObject([{ event: 'code_issued', trace_id: trace }])
    expect(await read(`?trace_id=${other}`)).toEqual({ events: [] })
  })

  test('after a deleted event, the page is empty', async () => {
    expect(await read('?after=999999999')).toEqual({ events: [] })
  })

  test.each([
    'since=yesterday',
    'after=x',
    'after=99999999999999999999',
    'user_id=alice',
    'client_id=a%2Fb',
    'event=%00',
    'trace_id=1'
  ])('%s is 422', async (query) => {
    expect((await admin.call('GET', `/audit?${query}`)).statusCode).toBe(422)
  })

  test.each(['unknown=1', 'limit=1001', 'after=%00'])('%s is 400', async (query) => {
    expect((await admin.call('GET', `/audit?${query}`)).statusCode).toBe(400)
  })
})

describe('operator keys', () => {
  const keys = async () => (await admin.call('GET', '/operator-keys')).json().operator_keys

  test('POST creates a valid key and returns it once; GET lists it with its last use, without its value', async () => {
    const answer = await admin.call('POST', '/operator-keys', { name: 'backup' })
    expect(answer.statusCode).toBe(201)
    const made = answer.json()
    expect(made).toEqual({ operator_key_id: expect.any(String), operator_key: expect.stringMatching(/^vk_ok_\w{49}$/) })
    const before = (await keys()).at(-1)
    expect(before).toEqual({
      operator_key_id: made.operator_key_id,
      name: 'backup',
      created_at: expect.any(String),
      created_by: admin.actor.operatorKeyId
    })
    const headers = { authorization: `Bearer ${made.operator_key}` }
    const listed = await server.operatorServer.inject({ url: '/admin/operator-keys', headers })
    expect(listed.body).not.toContain('vk_ok_')
    expect((await keys()).at(-1).last_used_at).toMatch(/^\d{4}-/)
  })

  test('POST is audited in table and log with the key of the request, without key values', async () => {
    const answer = await admin.call('POST', '/operator-keys', { name: 'deploy' })
    const { operator_key_id: operatorKeyId, operator_key: value } = answer.json()
    const details = { operatorKeyId, name: 'deploy', actor: admin.actor }
    const entry = await lastChangeIn(server)
    expect(entry).toEqual({
      event: 'operator_key_created',
      request_id: idOf(answer),
      client_id: null,
      user_id: null,
      address: '127.0.0.1',
      details
    })
    expect(eventsOf(answer)).toEqual([{ event: 'operator_key_created', address: '127.0.0.1', ...details }])
    expect(JSON.stringify(await changesIn(server))).not.toContain(value.slice(6, 20))
  })

  test('DELETE revokes the key immediately and permanently, is audited once, and is repeatable', async () => {
    const { operator_key_id: id, operator_key: value } = (
      await admin.call('POST', '/operator-keys', { name: 'short-lived' })
    ).json()
    const answer = await admin.call('DELETE', `/operator-keys/${id}`)
    expect([answer.statusCode, answer.json().revoked_at]).toEqual([200, expect.stringMatching(/^\d{4}-/)])
    const headers = { authorization: `Bearer ${value}` }
    expect((await server.operatorServer.inject({ url: '/admin/operator-keys', headers })).statusCode).toBe(401)
    const entries = await changesIn(server)
    expect(entries.at(-1)).toMatchObject({
      event: 'operator_key_revoked',
      details: { operatorKeyId: id, name: 'short-lived', actor: admin.actor }
    })
    const again = await admin.call('DELETE', `/operator-keys/${id}`)
    expect([again.statusCode, again.json()]).toEqual([200, answer.json()])
    expect(await changesIn(server)).toHaveLength(entries.length)
  })

  test('DELETE revokes all keys created with the key, with their number in response, table and log', async () => {
    const stolen = (await admin.call('POST', '/operator-keys', { name: 'stolen' })).json()
    const by = (key: string) => ({ authorization: `Bearer ${key}` })
    const made = (await admin.call('POST', '/operator-keys', { name: 'left behind' }, by(stolen.operator_key))).json()
    const answer = await admin.call('DELETE', `/operator-keys/${stolen.operator_key_id}`)
    expect(answer.json()).toMatchObject({ operator_key_id: stolen.operator_key_id, also_revoked: 1 })
    expect((await admin.call('GET', '/operator-keys', undefined, by(made.operator_key))).statusCode).toBe(401)
    expect(await lastChangeIn(server)).toMatchObject({ event: 'operator_key_revoked', details: { alsoRevoked: 1 } })
    expect(eventsOf(answer)).toMatchObject([{ event: 'operator_key_revoked', alsoRevoked: 1 }])
  })

  test('two concurrent POSTs with one name: one is created, one is 409; the name of a revoked key is free', async () => {
    const make = () => admin.call('POST', '/operator-keys', { name: 'twin' })
    const answers = await Promise.all([make(), make(), make()])
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 409, 409])
    expect((await changesIn(server)).filter(({ details }) => details.name === 'twin')).toHaveLength(1)
    const [won] = answers.filter(({ statusCode }) => statusCode === 201)
    await admin.call('DELETE', `/operator-keys/${won?.json().operator_key_id}`)
    expect((await make()).statusCode).toBe(201)
  })

  test.each([randomUUID(), 'no-id', "x' or '1'='1"])('DELETE of the unknown %j is 404', async (id) => {
    expect((await admin.call('DELETE', `/operator-keys/${encodeURIComponent(id)}`)).statusCode).toBe(404)
  })
})

describe('authentication', () => {
  const ADDRESS = '127.0.0.1'
  beforeEach(() => clearCounters(server))

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
})

describe('OpenAPI', () => {
  type Operation = { operationId?: string; responses: Record<string, object>; security?: object[] }

  const read = async () => {
    const answer = await admin.call('GET', '/openapi.json')
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    return answer.json() as { paths: Record<string, Record<string, Operation>>; security: object[] }
  }

  test('the document is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate((await read()) as never)).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('the document describes every route with a unique operationId, error responses and the key', async () => {
    const { paths, security } = await read()
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
    )
    expect(described).toContain('DELETE /admin/operator-keys/{operator_key_id}')
    for (const route of described) {
      const [method = '', path = ''] = route.split(' ')
      const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
      expect(server.operatorServer.hasRoute({ method: method as 'GET', url })).toBe(true)
    }
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).not.toContain(undefined)
    for (const { responses } of operations)
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '503']))
    expect(security).toEqual([{ operatorKey: [] }])
  })
})
