import { describe, expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { clientAuthenticationLimit } from '../../../../src/platform/rate-limits/rules.js'
import { REDIRECT_URI } from '../../../support/authorization-server.js'
import { setCounter } from '../../../support/counters.js'
import { authorizeUrl, basic, bodyCredentials, exchange, obtainCode, post, refresh } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { samplesOf } from '../../../support/samples.js'
import { disable } from '../../../support/tokens.js'
import { writeRest } from '../../../support/write-rest.js'
import { refusingServer } from '../support/refusing-server.js'

const world = refusingServer()

const authorize = (change: Record<string, string | undefined> = {}) =>
  world.server.publicServer.inject({ url: authorizeUrl(world.client.clientId, change) })

describe('a refused authorization request', () => {
  test.each<{ name: string; change: Record<string, string | undefined>; refusal: object }>([
    {
      name: 'a redirect URI that is not registered',
      change: { redirect_uri: 'https://app.example/other?code=secret#fragment' },
      refusal: {
        error: 'invalid_request',
        reason: 'redirect_uri_mismatch',
        redirectUri: 'https://app.example/other?code=…#…',
        description: undefined
      }
    },
    {
      name: 'no redirect URI',
      change: { redirect_uri: undefined },
      refusal: { reason: 'redirect_uri_mismatch', redirectUri: undefined }
    },
    {
      name: 'another response type',
      change: { response_type: 'token' },
      refusal: { error: 'unsupported_response_type', reason: 'unsupported_response_type' }
    },
    {
      name: 'no response type',
      change: { response_type: undefined },
      refusal: { reason: 'invalid_request', description: 'The parameter response_type is missing.' }
    },
    {
      name: 'an unknown scope',
      change: { scope: 'unknown' },
      refusal: { error: 'invalid_scope', reason: 'invalid_scope' }
    },
    {
      name: 'an unknown resource',
      change: { resource: 'https://unknown.example' },
      refusal: { error: 'invalid_target', reason: 'invalid_target' }
    },
    {
      name: 'prompt=none without a session',
      change: { prompt: 'none' },
      refusal: { error: 'login_required', reason: 'login_required' }
    },
    {
      name: 'a query that is too long',
      change: { state: 'x'.repeat(8_000) },
      refusal: { error: 'invalid_request', reason: 'request_too_long' }
    }
  ])('with $name is listed', async ({ change, refusal }) => {
    const response = await authorize(change)
    expect(await world.onlyRefusal()).toMatchObject({
      clientId: world.client.clientId,
      endpoint: 'authorize',
      requestId: response.headers['x-request-id'],
      authenticated: false,
      ...refusal
    })
  })

  test('of a disabled client is listed', async () => {
    await disable(world.server, 'client', world.client.clientId)
    await authorize()
    expect(await world.onlyRefusal()).toMatchObject({ error: 'invalid_client', reason: 'client_disabled' })
  })

  test('whose browser sends no cookie is listed', async () => {
    await world.server.publicServer.inject({ url: `${authorizeUrl(world.client.clientId)}&again=no_cookie` })
    expect(await world.onlyRefusal()).toMatchObject({ error: 'invalid_request', reason: 'no_cookie' })
  })

  test('with a huge or hostile redirect URI keeps at most 500 characters, without characters that turn it around', async () => {
    const hostile = `https://a.example/\u202e<img src=x onerror=alert(1)>${'x'.repeat(5_000)}`
    await authorize({ redirect_uri: hostile })
    const { redirectUri = '' } = (await world.onlyRefusal()) ?? {}
    expect(redirectUri).toMatch(/^https:\/\/a\.example\/<img src=x onerror=alert\(1\)>x+…$/)
    expect(redirectUri).toHaveLength(500)
  })

  test('that is accepted is not listed', async () => {
    await authorize()
    expect(await world.listed()).toEqual([])
  })
})

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

test('an anonymous flood of two processes keeps the rows of authenticated requests, and stores a bounded number of rows', async () => {
  const other = await startInstance(world.server)
  await exchange(world.server, world.client, 'vk_ac_x')
  await writeRest(world.server)
  const addresses = Array.from({ length: 100 }, (_, index) => `10.1.0.${index}`)
  await Promise.all(
    [world.server, other].flatMap(({ publicServer }) =>
      addresses.map((remoteAddress) =>
        publicServer.inject({
          remoteAddress,
          url: authorizeUrl(world.client.clientId, { redirect_uri: 'https://evil.example' })
        })
      )
    )
  )
  await other.close()
  const found = await world.listed()
  expect(found.filter(({ authenticated }) => authenticated)).toHaveLength(1)
  expect(found).toHaveLength(11)
})

test('a store that is unavailable or stalls delays no response', async () => {
  const [reached, released] = [signal(), signal()]
  let refuses = true
  const instance = await startInstance(world.stores, {
    wrap: (database) => ({
      ...database,
      async query(statement) {
        if (statement.name === 'append_client_refusals') {
          if (refuses) throw new StoreUnavailable('postgres', undefined)
          reached.give()
          await released.given
        }
        return database.query(statement)
      }
    })
  })
  const refuse = async () => (await exchange(instance, { ...world.client, clientSecret: 'wrong' }, 'x')).statusCode
  expect(await refuse()).toBe(401)
  await writeRest(instance)
  expect(await samplesOf(instance)).toMatchObject({ 'valetkey_client_refusals_dropped_total{cause=store}': 1 })
  refuses = false
  expect(await refuse()).toBe(401)
  const writing = writeRest(instance)
  await reached.given
  expect(await refuse()).toBe(401)
  expect(await world.listed()).toEqual([])
  released.give()
  await writing
  await instance.close()
  expect(await world.listed()).toHaveLength(2)
})

function signal() {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}
