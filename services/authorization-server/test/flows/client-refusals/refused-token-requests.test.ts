import { describe, expect, test } from '@jest/globals'
import { clientAuthenticationLimit } from '../../../src/platform/rate-limits/rules.js'
import { REDIRECT_URI } from '../../support/authorization-server.js'
import { setCounter } from '../../support/counters.js'
import { basic, bodyCredentials, exchange, obtainCode, post, refresh } from '../../support/flow.js'
import { refusingServer } from '../../support/refused-requests.js'

const world = refusingServer()

describe('a refused token request', () => {
  const invented = () => 'vk_ac_not-a-code'

  test.each<{ name: string; change: Record<string, string>; refusal: object }>([
    { name: 'an unknown code', change: {}, refusal: { error: 'invalid_grant', reason: 'code_unknown' } },
    {
      name: 'another grant type',
      change: { grant_type: 'password' },
      refusal: { error: 'unsupported_grant_type', reason: 'unsupported_grant_type' }
    },
    {
      name: 'a malformed verifier',
      change: { code_verifier: 'short' },
      refusal: { error: 'invalid_grant', reason: 'code_verifier' }
    },
    {
      name: 'an unknown refresh token',
      change: { grant_type: 'refresh_token', refresh_token: 'vk_rt_invented' },
      refusal: { error: 'invalid_grant', reason: 'refresh_token_unknown' }
    }
  ])('with $name is listed as authenticated', async ({ change, refusal }) => {
    const response = await exchange(world.server, world.client, invented(), change)
    expect(await world.onlyRefusal()).toMatchObject({
      endpoint: 'token',
      requestId: response.headers['x-request-id'],
      authenticated: true,
      ...refusal
    })
  })

  test('with a wrong secret is listed as not authenticated, without the id of the secret', async () => {
    await exchange(world.server, { ...world.client, clientSecret: 'a wrong secret' }, invented())
    expect(await world.onlyRefusal()).toEqual({
      clientId: world.client.clientId,
      occurredAt: expect.any(Date),
      endpoint: 'token',
      error: 'invalid_client',
      reason: 'wrong_secret',
      description: 'Client authentication failed.',
      requestId: expect.any(String),
      redirectUri: undefined,
      authenticated: false
    })
  })

  test('with a JSON body is listed by the client id of its header', async () => {
    await world.server.publicServer.inject({
      method: 'POST',
      url: '/token',
      headers: basic(world.client),
      payload: { code: 'x' }
    })
    expect(await world.onlyRefusal()).toMatchObject({
      error: 'invalid_request',
      reason: 'body_not_a_form',
      authenticated: false
    })
  })

  test('with a compressed body is listed by the client id of its header', async () => {
    await world.server.publicServer.inject({
      method: 'POST',
      url: '/token',
      headers: {
        ...basic(world.client),
        'content-type': 'application/x-www-form-urlencoded',
        'content-encoding': 'gzip'
      },
      payload: 'compressed'
    })
    expect(await world.onlyRefusal()).toMatchObject({ reason: 'body_compressed', authenticated: false })
  })

  test('with a repeated parameter is listed by the client id of its form', async () => {
    const payload = `${new URLSearchParams(bodyCredentials(world.client))}&code=a&code=b`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    await world.server.publicServer.inject({ method: 'POST', url: '/token', headers, payload })
    expect(await world.onlyRefusal()).toMatchObject({
      reason: 'invalid_request',
      description: 'The parameter code must be sent once.'
    })
  })

  test('after too many failures is listed', async () => {
    await setCounter(world.server, clientAuthenticationLimit('127.0.0.1'), 1_000)
    await exchange(world.server, { ...world.client, clientSecret: 'wrong' }, invented())
    expect(await world.onlyRefusal()).toMatchObject({ error: 'temporarily_unavailable', reason: 'too_many_attempts' })
  })

  test('with another redirect URI is listed with that URI, and with a used code as used', async () => {
    const code = await obtainCode(world.server, world.client)
    await exchange(world.server, world.client, code, { redirect_uri: `${REDIRECT_URI}?next=a-value` })
    await exchange(world.server, world.client, code)
    await exchange(world.server, world.client, code)
    expect(await world.listed()).toMatchObject([
      { reason: 'code_used', redirectUri: undefined },
      { reason: 'code_redirect_uri', redirectUri: `${REDIRECT_URI}?next=…` }
    ])
  })

  test('with the code or refresh token of another client is listed as unknown', async () => {
    const other = await world.server.createClient()
    const code = await obtainCode(world.server, other)
    await exchange(world.server, world.client, code)
    const { refresh_token: token } = (await exchange(world.server, other, code)).json()
    await refresh(world.server, world.client, token)
    expect((await world.listed()).map(({ reason }) => reason)).toEqual(['refresh_token_unknown', 'code_unknown'])
    expect(await world.listed(other)).toEqual([])
  })

  test('with a client id that no client has leaves no row', async () => {
    const invented = { clientId: 'invented', clientSecret: 'x' }
    await exchange(world.server, invented, 'x')
    expect(await world.listed(invented)).toEqual([])
  })

  test('of a client that was deleted meanwhile leaves no row', async () => {
    await exchange(world.server, world.client, invented())
    await world.server.database.query({
      name: '',
      text: 'delete from clients where client_id = $1',
      values: [world.client.clientId]
    })
    expect(await world.listed()).toEqual([])
  })
})

test('a refused revocation request is listed', async () => {
  await post(world.server, '/oauth/revoke', bodyCredentials(world.client))
  expect(await world.onlyRefusal()).toMatchObject({
    endpoint: 'revoke',
    error: 'invalid_request',
    description: 'The parameter token is missing.',
    authenticated: true
  })
})

test('a refused introspection request leaves no row', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basic(world.client) }
  await world.server.internalServer.inject({ method: 'POST', url: '/introspect', headers, payload: 'token=x' })
  expect(await world.listed()).toEqual([])
})
