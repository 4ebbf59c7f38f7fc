import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer,
  until
} from '../../../support/authorization-server.js'
import { S256 } from '../../../support/authorize-cases.js'
import { basic, bodyCredentials, post } from '../../../support/flow.js'
import { PUSHED_PATH, push, REQUEST_URN, requestOf } from '../support/pushed-requests.js'

let server: TestServer
let client: Credentials
let app: Credentials

beforeAll(async () => {
  server = await startTestServer()
  client = await server.createClient()
  app = await server.createClient({ type: 'public', requiresPkce: true })
})
afterAll(() => server.close())

const storedRequests = () => server.redis.keys('vk:par:*')

async function expectRefused(answer: LightMyRequestResponse, status: number, error: string): Promise<void> {
  expect([answer.statusCode, answer.json().error]).toEqual([status, error])
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' })
  expect(answer.headers.location).toBeUndefined()
}

describe('the endpoint accepts', () => {
  test('a request, and responds with its request_uri for 90 seconds, which must not be cached', async () => {
    const answer = await push(server, client)
    expect(answer.statusCode).toBe(201)
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': expect.stringMatching(/^application\/json/),
      'access-control-allow-origin': '*'
    })
    const { request_uri: requestUri, ...rest } = answer.json()
    expect(rest).toEqual({ expires_in: 90 })
    expect(requestUri).toMatch(/^urn:ietf:params:oauth:request_uri:vk_ru_[0-9A-Za-z]{49}$/)
  })

  test('each request as another one, under its hash', async () => {
    const one = (await push(server, client)).json().request_uri
    const two = (await push(server, client)).json().request_uri
    expect(one).not.toBe(two)
    for (const key of await storedRequests()) {
      expect(key).toMatch(/^vk:par:[0-9a-f]{64}$/)
      expect(await server.redis.hgetall(key)).not.toHaveProperty('used')
    }
  })

  test.each<{ name: string; send: () => Promise<LightMyRequestResponse> }>([
    { name: 'the secret in the header', send: () => post(server, PUSHED_PATH, requestOf(client), basic(client)) },
    {
      name: 'the secret in the header, and no client_id',
      send: () => post(server, PUSHED_PATH, requestOf(client, { client_id: undefined }), basic(client))
    },
    {
      name: 'the secret in the body',
      send: () => post(server, PUSHED_PATH, { ...requestOf(client), ...bodyCredentials(client) })
    },
    { name: 'a public client', send: () => post(server, PUSHED_PATH, requestOf(app, S256)) }
  ])('$name', async ({ send }) => {
    expect((await send()).statusCode).toBe(201)
  })

  test('no secret into its records', async () => {
    await post(server, PUSHED_PATH, { ...requestOf(client), ...bodyCredentials(client) })
    const bodies = await Promise.all((await storedRequests()).map((key) => server.redis.hget(key, 'body')))
    expect(bodies.length).toBeGreaterThan(0)
    expect(bodies.join()).not.toContain('client_secret')
    expect(bodies.join()).not.toContain(client.clientSecret)
  })

  test('a preflight request of any origin', async () => {
    const answer = await server.publicServer.inject({
      method: 'OPTIONS',
      url: PUSHED_PATH,
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' }
    })
    expect(answer.statusCode).toBe(204)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST'
    })
  })
})

describe('the endpoint refuses', () => {
  const form = (change: Record<string, string | undefined>) => () => push(server, client, change)
  const raw = (change: object, payload: string) => () =>
    server.publicServer.inject({
      method: 'POST',
      url: PUSHED_PATH,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(client), ...change },
      payload
    })
  const encoded = (change = {}) => new URLSearchParams(requestOf(client, change)).toString()

  test.each<{ name: string; error: string; send: () => Promise<LightMyRequestResponse> }>([
    { name: 'request_uri', error: 'invalid_request', send: form({ request_uri: `${REQUEST_URN}x` }) },
    {
      name: 'request_uri twice',
      error: 'invalid_request',
      send: () => raw({}, `${encoded()}&request_uri=a&request_uri=b`)()
    },
    { name: 'request', error: 'request_not_supported', send: form({ request: 'eyJ.e30.' }) },
    { name: 'no redirect_uri', error: 'invalid_request', send: form({ redirect_uri: undefined }) },
    {
      name: 'another redirect_uri than a registered one',
      error: 'invalid_request',
      send: form({ redirect_uri: `${REDIRECT_URI}/other` })
    },
    {
      name: 'redirect_uri twice',
      error: 'invalid_request',
      send: () => raw({}, `${encoded()}&redirect_uri=${encodeURIComponent(REDIRECT_URI)}`)()
    },
    { name: 'no response_type', error: 'invalid_request', send: form({ response_type: undefined }) },
    { name: 'response_type token', error: 'unsupported_response_type', send: form({ response_type: 'token' }) },
    { name: 'an unknown scope', error: 'invalid_scope', send: form({ scope: 'unknown' }) },
    { name: 'an unknown resource', error: 'invalid_target', send: form({ resource: `${AUDIENCE}/other` }) },
    { name: 'a challenge without a method', error: 'invalid_request', send: form({ code_challenge: 'x'.repeat(43) }) },
    { name: 'state twice', error: 'invalid_request', send: () => raw({}, `${encoded()}&state=b`)() },
    { name: 'prompt=none with another value', error: 'invalid_request', send: form({ prompt: 'none login' }) },
    {
      name: 'a public client without PKCE',
      error: 'invalid_request',
      send: () => post(server, PUSHED_PATH, requestOf(app))
    },
    {
      name: 'another client_id than that of the header',
      error: 'invalid_request',
      send: () => post(server, PUSHED_PATH, requestOf(app, S256), basic(client))
    },
    {
      name: 'a JSON body',
      error: 'invalid_request',
      send: () => raw({ 'content-type': 'application/json' }, JSON.stringify(requestOf(client)))()
    },
    { name: 'an empty body', error: 'invalid_request', send: () => raw({}, '')() }
  ])('$name: 400 $error', async ({ error, send }) => {
    const before = await storedRequests()
    await expectRefused(await send(), 400, error)
    expect(await storedRequests()).toHaveLength(before.length)
  })

  test.each<{ name: string; send: () => Promise<LightMyRequestResponse> }>([
    {
      name: 'a wrong secret',
      send: () => push(server, { ...client, clientSecret: app.clientSecret })
    },
    { name: 'a confidential client without a secret', send: () => post(server, PUSHED_PATH, requestOf(client)) },
    { name: 'an unknown client', send: () => push(server, { ...client, clientId: 'unknown' }) },
    {
      name: 'a client whose metadata document nobody allowed before',
      send: () => post(server, PUSHED_PATH, requestOf({ clientId: 'https://app.example/client.json' }, S256))
    },
    { name: 'no client', send: () => post(server, PUSHED_PATH, {}) }
  ])('$name: 401 invalid_client', async ({ send }) => {
    await expectRefused(await send(), 401, 'invalid_client')
  })

  test.each(['GET', 'HEAD', 'PUT', 'DELETE'] as const)('%s: 405', async (method) => {
    const answer = await server.publicServer.inject({ method, url: PUSHED_PATH, headers: { accept: 'text/html' } })
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
    if (method !== 'HEAD') expect(answer.json().error).toBe('invalid_request')
  })

  test('a body of more than 8,000 characters: 413; one of 8,000 is accepted', async () => {
    const padding = (length: number) => `${encoded()}&padding=`.padEnd(length, 'x')
    expect((await raw({}, padding(8_000))()).statusCode).toBe(201)
    await expectRefused(await raw({}, padding(8_001))(), 413, 'invalid_request')
  })

  test('a disabled client: 401 invalid_client', async () => {
    const disabled = await server.createClient()
    const text = 'update clients set disabled_at = now() where client_id = $1'
    await server.database.query({ name: 'test_disable', text, values: [disabled.clientId] })
    await until(async () => (await push(server, disabled)).statusCode !== 201)
    await expectRefused(await push(server, disabled), 401, 'invalid_client')
  })
})

describe('pushes', () => {
  const from = (address: string, form: Record<string, string>, headers = {}) =>
    server.publicServer.inject({
      method: 'POST',
      url: PUSHED_PATH,
      remoteAddress: address,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(form).toString()
    })
  /** Sets the counters of failures as if so many had been counted. */
  async function count(kind: string, number: number): Promise<void> {
    for (const key of await server.redis.keys(`vk:attempts:${kind}:*`)) await server.redis.set(key, number, 'EX', 60)
  }

  test('are limited to 300 from an address in 15 minutes for public clients, and other addresses are not limited', async () => {
    const pushFrom = (address: string) => from(address, requestOf(app, S256))
    expect((await pushFrom('192.0.2.7')).statusCode).toBe(201)
    await count('push-address', 299)
    expect((await pushFrom('192.0.2.7')).statusCode).toBe(201)
    const refused = await pushFrom('192.0.2.7')
    await expectRefused(refused, 429, 'temporarily_unavailable')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.json().error_description).toContain('pushed')
    expect((await pushFrom('192.0.2.8')).statusCode).toBe(201)
    expect((await from('192.0.2.7', requestOf(client), basic(client))).statusCode).toBe(201)
  })

  test('are limited to 1,200 in a minute of a confidential client, and refused requests do not count', async () => {
    const own = await server.createClient()
    const pushFrom = (address: string, change = {}) => from(address, requestOf(own, change), basic(own))
    expect((await pushFrom('192.0.2.10')).statusCode).toBe(201)
    await count('push-client', 1_199)
    expect((await pushFrom('192.0.2.11', { scope: 'unknown' })).statusCode).toBe(400)
    expect((await pushFrom('192.0.2.12')).statusCode).toBe(201)
    await expectRefused(await pushFrom('192.0.2.13'), 429, 'temporarily_unavailable')
  })
})

test('the metadata names the endpoint, and that neither signed nor other requests by reference are supported', async () => {
  const metadata = await server.publicServer.inject('/.well-known/oauth-authorization-server')
  expect(metadata.json()).toMatchObject({
    pushed_authorization_request_endpoint: `${ISSUER}/oauth/par`,
    require_pushed_authorization_requests: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false
  })
})
