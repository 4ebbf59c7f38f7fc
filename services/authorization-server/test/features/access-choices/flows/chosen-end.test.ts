import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { auditRows } from '../../../support/audit-rows.js'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { stopClock } from '../../../support/clock.js'
import { exchange, PASSWORD, refresh } from '../../../support/flow.js'
import { introspectionOf, pairOf } from '../../../support/tokens.js'
import { allowFor, DAY, endsOf, errorOf, HOUR, tokensFor } from '../support/chosen-ends.js'

const MINUTE = 60
const clock = stopClock()
let server: TestServer
let api: Credentials
let client: Credentials

beforeAll(async () => {
  server = await startTestServer({ ACCESS_CHOICES: '30m,1h,30d,until_ended', ACCESS_TOKEN_TTL: String(HOUR) })
  api = await server.createResourceServer()
  client = await server.createClient()
  await server.createUser('alice', PASSWORD)
})
afterAll(async () => {
  clock.restart()
  await server.close()
})
// The limits of sign-ins are in Redis.
afterEach(() => server.redis.flushdb())

const seconds = () => Math.floor(clock.now().getTime() / 1000)

describe('the end that a user chose at Allow', () => {
  test('shortens access and refresh token, and the client reads it (draft-ietf-oauth-refresh-token-expiration-02)', async () => {
    const end = seconds() + 30 * MINUTE
    const code = await allowFor(server, client, '30m')
    clock.advance(10)
    const tokens = pairOf(await exchange(server, client, code))
    const left = 30 * MINUTE - 10
    expect(endsOf(tokens)).toEqual({
      expires_in: left,
      authorization_expires_in: left,
      refresh_token_timeout: left
    })
    expect(await introspectionOf(server, api, tokens.access_token)).toMatchObject({ active: true, exp: end })
  })

  test('is counted from Allow, and holds for every refresh, to the second', async () => {
    const first = await tokensFor(server, client, '1h')
    clock.advance(50 * MINUTE)
    const second = pairOf(await refresh(server, client, first.refresh_token))
    expect(endsOf(second)).toEqual({
      expires_in: 10 * MINUTE,
      authorization_expires_in: 10 * MINUTE,
      refresh_token_timeout: 10 * MINUTE
    })
    clock.advance(10 * MINUTE - 1)
    const third = pairOf(await refresh(server, client, second.refresh_token))
    expect(endsOf(third)).toMatchObject({ expires_in: 1, authorization_expires_in: 1 })
    expect(await introspectionOf(server, api, third.access_token)).toMatchObject({ active: true })
    clock.advance(1)
    expect(await introspectionOf(server, api, third.access_token)).toEqual({ active: false })
    expect(errorOf(await refresh(server, client, third.refresh_token))).toEqual([400, 'invalid_grant'])
  })

  test('is far away: access tokens live as long as otherwise, and the response says when the access ends', async () => {
    expect(endsOf(await tokensFor(server, client, '30d'))).toEqual({
      expires_in: HOUR,
      authorization_expires_in: 30 * DAY,
      refresh_token_timeout: 14 * DAY
    })
  })

  test('is "until ended": the absolute end of the grant is that of the settings', async () => {
    expect(endsOf(await tokensFor(server, client, 'until_ended'))).toEqual({
      expires_in: HOUR,
      authorization_expires_in: 90 * DAY,
      refresh_token_timeout: 14 * DAY
    })
  })

  test('ends the access token of a client without refresh tokens', async () => {
    const once = await server.createClient({ issuesRefreshTokens: false })
    const tokens = await tokensFor(server, once, '30m')
    expect(endsOf(tokens)).toEqual({
      expires_in: 30 * MINUTE,
      authorization_expires_in: 30 * MINUTE,
      refresh_token_timeout: undefined
    })
    expect(tokens.refresh_token).toBeUndefined()
    clock.advance(30 * MINUTE - 1)
    expect(await introspectionOf(server, api, tokens.access_token)).toMatchObject({ active: true })
    clock.advance(1)
    expect(await introspectionOf(server, api, tokens.access_token)).toEqual({ active: false })
  })

  test('holds for a client that keeps its refresh token', async () => {
    const keeping = await server.createClient({ keepsRefreshTokens: true })
    const first = await tokensFor(server, keeping, '1h')
    clock.advance(40 * MINUTE)
    const second = pairOf(await refresh(server, keeping, first.refresh_token))
    expect(endsOf(second)).toEqual({
      expires_in: 20 * MINUTE,
      authorization_expires_in: 20 * MINUTE,
      refresh_token_timeout: 20 * MINUTE
    })
    clock.advance(20 * MINUTE)
    expect(errorOf(await refresh(server, keeping, first.refresh_token))).toEqual([400, 'invalid_grant'])
  })

  test('is repeated in the retry window: every value is that of the repetition, never longer than the time left', async () => {
    const first = await tokensFor(server, client, '1h')
    const lost = pairOf(await refresh(server, client, first.refresh_token))
    clock.advance(20)
    const again = pairOf(await refresh(server, client, first.refresh_token))
    expect(again.access_token).toBe(lost.access_token)
    const left = HOUR - 20
    expect(endsOf(again)).toEqual({ expires_in: left, authorization_expires_in: left, refresh_token_timeout: left })
  })

  test('comes within the retry window: the response is not repeated', async () => {
    const first = await tokensFor(server, client, '30m')
    clock.advance(30 * MINUTE - 5)
    pairOf(await refresh(server, client, first.refresh_token))
    clock.advance(5)
    expect(errorOf(await refresh(server, client, first.refresh_token))).toEqual([400, 'invalid_grant'])
  })

  test('is in the audit event of Allow', async () => {
    const end = new Date((seconds() + HOUR) * 1000)
    await allowFor(server, client, '1h')
    const events = (await auditRows(server)).filter(({ event }) => event === 'consent_given')
    expect(events.at(-1)).toMatchObject({ client_id: client.clientId, details: { endsAt: end.toISOString() } })
  })
})

test('the metadata announces the members (draft-ietf-oauth-refresh-token-expiration-02)', async () => {
  const { body } = await server.publicServer.inject('/.well-known/oauth-authorization-server')
  expect(JSON.parse(body).refresh_token_expiration_types_supported).toEqual(['authorization', 'token_timeout'])
})

test('an operator who requires sign-ins can end the access earlier', async () => {
  const strict = await startTestServer({ ACCESS_CHOICES: '30d', SIGN_IN_AT_LEAST_EVERY: '1' })
  try {
    await strict.createUser('alice', PASSWORD)
    const printer = await strict.createClient()
    const tokens = await tokensFor(strict, printer, '30d')
    clock.advance(2 * DAY)
    expect(errorOf(await refresh(strict, printer, tokens.refresh_token))).toEqual([400, 'invalid_grant'])
  } finally {
    await strict.close()
  }
})

test('without ACCESS_CHOICES, responses and metadata say nothing of ends', async () => {
  const plain = await startTestServer()
  try {
    await plain.createUser('alice', PASSWORD)
    const tokens = await tokensFor(plain, await plain.createClient(), '1h')
    expect(Object.keys(tokens)).toEqual(['access_token', 'token_type', 'expires_in', 'scope', 'refresh_token'])
    const { body } = await plain.publicServer.inject('/.well-known/oauth-authorization-server')
    expect(JSON.parse(body)).not.toHaveProperty('refresh_token_expiration_types_supported')
  } finally {
    await plain.close()
  }
})
