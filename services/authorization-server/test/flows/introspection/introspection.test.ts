import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import {
  basic,
  bodyCredentials,
  exchange,
  introspect,
  obtainCode,
  PASSWORD,
  post,
  refresh
} from '../../support/flow.js'
import { deleteRow, disable, enable, isActive, pairOf, type Tokens } from '../../support/tokens.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const clock = stopClock()
let server: TestServer
let userId: string
let client: Credentials
let resourceServer: Credentials
let tokens: Tokens
let code: string
let users = 0

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
})
beforeEach(async () => {
  const username = `alice-${++users}`
  userId = await server.createUser(username, PASSWORD)
  client = await server.createClient()
  code = await obtainCode(server, client, { username, change: { scope: 'files.read:images files.read' } })
  tokens = pairOf(await exchange(server, client, code))
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

function expectInactive(answer: Awaited<ReturnType<typeof introspect>>): void {
  expect([answer.statusCode, answer.body]).toEqual([200, '{"active":false}'])
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(answer.headers.pragma).toBe('no-cache')
}

describe('introspection of an active access token (RFC 7662 §2.2)', () => {
  test('returns exactly the documented members', async () => {
    const issuedAt = clock.now().getTime() / 1000
    clock.advance(5)
    const answer = await introspect(server, resourceServer, tokens.access_token)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers.pragma).toBe('no-cache')
    expect(answer.json()).toEqual({
      active: true,
      scope: 'files.read:images files.read',
      client_id: client.clientId,
      sub: userId,
      iss: ISSUER,
      aud: AUDIENCE,
      iat: issuedAt,
      exp: issuedAt + 3600,
      jti: expect.stringMatching(UUID),
      token_type: 'Bearer',
      grant_id: expect.stringMatching(UUID)
    })
    expect(answer.body).not.toContain(`alice-${users}`)
  })

  test('jti and grant_id stay the same for repeated requests and differ from each other', async () => {
    const looks = [1, 2].map(() => introspect(server, resourceServer, tokens.access_token))
    const [first, second] = (await Promise.all(looks)).map((answer) => answer.json())
    expect(first).toEqual(second)
    expect(first.jti).not.toBe(first.grant_id)
  })

  test('is active one second before its expiry and inactive at its expiry', async () => {
    clock.advance(3599)
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    clock.advance(1)
    expectInactive(await introspect(server, resourceServer, tokens.access_token))
  })

  test('housekeeping deletes only expired tokens', async () => {
    await createExpiredRows(server.database).deleteSome()
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
  })
})

describe('all other values get exactly {"active":false} (RFC 7662 §2.2)', () => {
  test.each<{ name: string; value(): string }>([
    { name: 'a refresh token', value: () => tokens.refresh_token },
    { name: 'a used code', value: () => code },
    { name: 'the client’s secret', value: () => client.clientSecret },
    { name: 'the caller’s own secret', value: () => resourceServer.clientSecret },
    { name: 'a well-formed token that was never issued', value: () => newOpaqueAccessToken(new Date(), randomBytes) },
    {
      name: 'an access token with a wrong checksum',
      value: () => tokens.access_token.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'))
    },
    { name: 'a token without its last character', value: () => tokens.access_token.slice(0, -1) },
    { name: 'a token with a trailing space', value: () => `${tokens.access_token} ` },
    { name: 'a token in upper case', value: () => tokens.access_token.toUpperCase() },
    { name: 'characters outside ASCII', value: () => 'tökén' },
    { name: 'a control character', value: () => 'vk_at_\u0000' },
    { name: '12,000 characters', value: () => 'x'.repeat(12_000) }
  ])('$name', async ({ value }) => {
    expectInactive(await introspect(server, resourceServer, value()))
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
  })

  test('an unused code gets {"active":false} and stays usable', async () => {
    const username = `alice-${users}`
    const unused = await obtainCode(server, client, { username })
    expectInactive(await introspect(server, resourceServer, unused))
    expect((await exchange(server, client, unused)).statusCode).toBe(200)
  })

  test.each([
    { name: 'an invalid percent-encoding', value: '%zz' },
    { name: 'bytes that are not UTF-8', value: '%ff' }
  ])('$name: {"active":false}', async ({ value }) => {
    const answer = await server.internalServer.inject({
      method: 'POST',
      url: '/introspect',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(resourceServer) },
      payload: `token=${value}`
    })
    expectInactive(answer)
  })

  test.each<{ name: string; ending(): Promise<unknown> }>([
    {
      name: 'a revoked token',
      ending: () => post(server, '/oauth/revoke', { token: tokens.access_token, ...bodyCredentials(client) })
    },
    {
      name: 'a token whose grant was revoked',
      ending: () => post(server, '/oauth/revoke', { token: tokens.refresh_token, ...bodyCredentials(client) })
    },
    { name: 'a token whose code was replayed', ending: () => exchange(server, client, code) },
    {
      name: 'a token whose refresh token was reused',
      ending: async () => {
        await refresh(server, client, tokens.refresh_token)
        clock.advance(30)
        await refresh(server, client, tokens.refresh_token)
      }
    },
    { name: 'a token of a disabled user', ending: () => disable(server, 'user', userId) },
    { name: 'a token of a deleted user', ending: () => deleteRow(server, 'user', userId) },
    { name: 'a token of a disabled client', ending: () => disable(server, 'client', client.clientId) },
    { name: 'a token of a deleted client', ending: () => deleteRow(server, 'client', client.clientId) },
    {
      name: 'a token of a user who was disabled and enabled again',
      ending: async () => {
        await disable(server, 'user', userId)
        await enable(server, 'user', userId)
      }
    },
    {
      name: 'a token of a client that was disabled and enabled again',
      ending: async () => {
        await disable(server, 'client', client.clientId)
        await enable(server, 'client', client.clientId)
      }
    },
    { name: 'an expired token', ending: async () => clock.advance(3600) },
    {
      name: 'an expired and deleted token',
      ending: async () => {
        clock.advance(86_400 * 100)
        await createExpiredRows(server.database).deleteSome()
      }
    }
  ])('$name', async ({ ending }) => {
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    await ending()
    expectInactive(await introspect(server, resourceServer, tokens.access_token))
  })

  test('the end of a user or client does not affect others', async () => {
    const username = `bob-${users}`
    await server.createUser(username, PASSWORD)
    const others = await server.createClient()
    const kept = pairOf(await exchange(server, others, await obtainCode(server, others, { username })))
    await disable(server, 'user', userId)
    await disable(server, 'client', client.clientId)
    expect(await isActive(server, resourceServer, kept.access_token)).toBe(true)
  })
})

test('a refreshed token with a narrower scope has its own scope, not that of the grant (RFC 6749 §6)', async () => {
  const narrow = pairOf(await refresh(server, client, tokens.refresh_token, { scope: 'files.read' }))
  const looks = [tokens, narrow].map(({ access_token }) => introspect(server, resourceServer, access_token))
  const scopes = (await Promise.all(looks)).map((answer) => answer.json().scope)
  expect(scopes).toEqual(['files.read:images files.read', 'files.read'])
})
