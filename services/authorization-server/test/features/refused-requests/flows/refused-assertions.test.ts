import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ASSERTION_REFUSALS } from '@valetkey/oauth-protocol/signed'
import { shownReason } from '../../../../src/features/refused-requests/shown-reason.js'
import { pushedRequestLimit } from '../../../../src/platform/rate-limits/rules.js'
import { REDIRECT_URI } from '../../../support/authorization-server.js'
import { setCounter } from '../../../support/counters.js'
import { bodyCredentials, post } from '../../../support/flow.js'
import {
  type AssertionChange,
  assertionForm,
  createClientWithKeys,
  createSigningKey,
  type SigningKey
} from '../../client-keys/support/assertions.js'
import { refusingServer } from '../support/refusing-server.js'

const world = refusingServer()
let key: SigningKey
let other: SigningKey

beforeAll(async () => {
  key = await createSigningKey()
  other = await createSigningKey('ES256', key.jwk.kid)
})
beforeEach(async () => {
  world.client = await createClientWithKeys(world.server, key)
})

const revoke = async (change: AssertionChange = {}, signer = key, fields: Record<string, string> = {}) =>
  post(world.server, '/oauth/revoke', {
    token: 'x',
    ...(await assertionForm(signer, world.client.clientId, change)),
    ...fields
  })
const now = () => Math.floor(Date.now() / 1_000)

describe('a refused client assertion', () => {
  test.each<{ name: string; change: () => AssertionChange; reason: string }>([
    {
      name: 'another audience',
      change: () => ({ payload: { aud: 'https://x.example' } }),
      reason: 'assertion_audience'
    },
    { name: 'an old exp', change: () => ({ payload: { exp: now() - 60 } }), reason: 'assertion_expired' },
    { name: 'a late exp', change: () => ({ payload: { exp: now() + 9_000 } }), reason: 'assertion_lives_too_long' },
    { name: 'a late iat', change: () => ({ payload: { iat: now() + 90 } }), reason: 'assertion_not_yet_valid' },
    { name: 'no jti', change: () => ({ payload: { jti: undefined } }), reason: 'assertion_jti' },
    { name: 'another kid', change: () => ({ header: { kid: 'unknown' } }), reason: 'assertion_unknown_key' },
    { name: 'another sub', change: () => ({ payload: { sub: 'other' } }), reason: 'assertion_client' },
    { name: 'a typ of proofs', change: () => ({ header: { typ: 'dpop+jwt' } }), reason: 'assertion_header' }
  ])('with $name is listed by its cause, not as authenticated', async ({ change, reason }) => {
    const response = await revoke(change())
    expect(response.statusCode).toBe(401)
    expect(await world.onlyRefusal()).toMatchObject({
      endpoint: 'revoke',
      error: 'invalid_client',
      reason,
      requestId: response.headers['x-request-id'],
      authenticated: false
    })
  })

  test('of another key is listed', async () => {
    await revoke({}, other)
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'assertion_signature', authenticated: false })
  })

  test('that was used before is listed, not as authenticated', async () => {
    const form = { token: 'x', ...(await assertionForm(key, world.client.clientId)) }
    expect((await post(world.server, '/oauth/revoke', form)).statusCode).toBe(200)
    await post(world.server, '/oauth/revoke', form)
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'assertion_used', authenticated: false })
  })

  test('signed with a secret is listed by the iss that it names', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const { clientId } = world.client
    const assertion = `${part({ alg: 'HS256' })}.${part({ iss: clientId, sub: clientId })}.${'A'.repeat(43)}`
    await revoke({}, key, { client_assertion: assertion })
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'assertion_algorithm', authenticated: false })
  })

  test('that is no JWT is listed by the client_id beside it', async () => {
    await revoke({}, key, { client_assertion: 'x', client_id: world.client.clientId })
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'assertion_malformed', authenticated: false })
  })

  test('of a client with a secret, and a secret of a client with a key, are listed as the wrong method', async () => {
    await post(world.server, '/oauth/revoke', { token: 'x', ...bodyCredentials(world.client), client_secret: 'x' })
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'wrong_authentication_method' })
    world.client = await world.server.createClient()
    await revoke()
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'wrong_authentication_method' })
  })

  test('has a text for each reason', () => {
    expect(ASSERTION_REFUSALS.filter((reason) => shownReason(reason) === 'other')).toEqual([])
  })

  test('100 of a process are stored as 10 rows of the client', async () => {
    for (let count = 0; count < 100; count++) await revoke({ payload: { aud: 'x' } })
    expect(await world.listed()).toHaveLength(10)
  })
})

test('a request that the client has signed is listed as authenticated', async () => {
  const form = { ...(await assertionForm(key, world.client.clientId)), grant_type: 'password' }
  await post(world.server, '/token', form)
  expect(await world.onlyRefusal()).toMatchObject({
    endpoint: 'token',
    reason: 'unsupported_grant_type',
    authenticated: true
  })
})

describe('a refused pushed request', () => {
  const push = async (fields: Record<string, string>) =>
    post(world.server, '/oauth/par', {
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'files.read',
      ...(await assertionForm(key, world.client.clientId)),
      ...fields
    })

  test.each([
    {
      name: 'another redirect URI',
      fields: { redirect_uri: 'https://app.example/other?code=secret' },
      refusal: { reason: 'redirect_uri_mismatch', redirectUri: 'https://app.example/other?code=…' }
    },
    {
      name: 'an unknown scope',
      fields: { scope: 'unknown' },
      refusal: { error: 'invalid_scope', reason: 'invalid_scope' }
    },
    {
      name: 'a request_uri',
      fields: { request_uri: 'urn:x' },
      refusal: { reason: 'invalid_request', description: 'The parameter request_uri must not be pushed.' }
    },
    { name: 'a request object', fields: { request: 'x' }, refusal: { reason: 'request_not_supported' } }
  ])('with $name is listed with its cause', async ({ fields, refusal }) => {
    const response = await push(fields)
    expect(response.statusCode).toBe(400)
    expect(await world.onlyRefusal()).toMatchObject({
      endpoint: 'par',
      requestId: response.headers['x-request-id'],
      authenticated: true,
      ...refusal
    })
  })

  test('with a wrong assertion is listed, not as authenticated', async () => {
    await push(await assertionForm(other, world.client.clientId))
    expect(await world.onlyRefusal()).toMatchObject({
      endpoint: 'par',
      reason: 'assertion_signature',
      authenticated: false
    })
  })

  test('over its limit is listed', async () => {
    await setCounter(
      world.server,
      pushedRequestLimit({ ...world.client, type: 'confidential' } as never, '127.0.0.1'),
      9_999
    )
    expect((await push({})).statusCode).toBe(429)
    expect(await world.onlyRefusal()).toMatchObject({
      error: 'temporarily_unavailable',
      reason: 'too_many_pushed_requests',
      authenticated: true
    })
  })
})
