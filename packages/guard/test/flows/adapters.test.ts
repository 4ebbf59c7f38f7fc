import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createGuard, type Guard } from '../../src/index.js'
import {
  ADAPTER_CASES,
  type ApiRequest,
  CASES,
  type Expected,
  ISSUER,
  live,
  METADATA_PATH,
  RESOURCE
} from '../adapters/cases.js'
import { checkCase, requestOf, send } from '../adapters/check-case.js'
import { RECENT_CASES } from '../adapters/recent-cases.js'
import { ADAPTERS, type Adapter } from '../adapters/servers.js'
import { type FakeEndpoint, json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import type { RawAnswer } from '../raw-request.js'

const EXPOSED = 'www-authenticate, dpop-nonce, retry-after, etag, x-request-id'
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  invalid_request: 'Send one access token, in one Authorization header, and nowhere else.',
  invalid_token: 'The access token is not valid here.',
  insufficient_user_authentication: 'This request needs a more recent sign-in of the user.',
  insufficient_scope: 'The access token does not cover this request.'
}
const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  503: 'Service Unavailable'
}

let endpoint: FakeEndpoint
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
})
afterAll(() => endpoint.close())

const guardWith = (anyOrigin: boolean) =>
  createGuard({
    issuer: ISSUER,
    resource: RESOURCE,
    scopesSupported: ['reports.read'],
    tokenFormat: 'any',
    anyOrigin,
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })

function expectProblem({ method }: ApiRequest, { headers, body }: RawAnswer, { status, error }: Expected): void {
  const description = /, error_description="([^"]*)"$/.exec(headers.get('www-authenticate') ?? '')?.[1]
  expect(description).toBe(DESCRIPTIONS[error ?? ''])
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/)
  if (method === 'HEAD') expect(body).toBe('')
  else expectError(JSON.parse(body), status, error)
}

function expectError(body: Record<string, unknown>, status: number, error: string | undefined): void {
  const code = status === 503 ? 'temporarily_unavailable' : error
  expect([body.title, body.status, body.error]).toEqual([TITLES[status], status, code])
}

describe.each(ADAPTERS)('$name', (adapter) => {
  let guard: Guard
  let api: Awaited<ReturnType<Adapter['start']>>
  beforeAll(async () => {
    guard = guardWith(true)
    api = await adapter.start(guard)
  })
  afterAll(async () => {
    await api.close()
    await guard.close()
  })

  test.each([...CASES, ...ADAPTER_CASES, ...RECENT_CASES])('$name: $expected.status', async (each) => {
    const { request, response, expected } = await checkCase({ ...adapter, ...api }, endpoint, each)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-expose-headers')).toBe(EXPOSED)
    if (expected.status !== 200) expectProblem(request, response, expected)
  })

  test('the guarded handler gets the token', async () => {
    endpoint.answers(json(live))
    const { body } = await send(api, requestOf())
    expect(JSON.parse(body)).toEqual({ subject: 'alice-id', clientId: 'printer', scope: ['profile', 'reports.read'] })
  })

  test('a handler without a guard that reads the token fails: 500', async () => {
    expect((await send(api, requestOf({ target: '/open' }))).status).toBe(500)
  })

  test('a preflight request: 204 without a token, allowing Authorization (Fetch standard)', async () => {
    endpoint.answers(json(live))
    const response = await send(api, preflight('/reports'))
    expect([response.status, endpoint.calls.length]).toEqual([204, 0])
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization, *')
    expect(response.headers.get('access-control-allow-methods')).toBe('*')
  })

  test('a handler that sets CORS headers: its origin and its exposed headers are in the response', async () => {
    endpoint.answers(json(live))
    const { status, headers } = await send(api, requestOf({ target: '/linked' }))
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example'])
    expect(headers.get('access-control-expose-headers')?.split(', ')).toContain('link')
  })

  const metadata = {
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    scopes_supported: ['reports.read'],
    bearer_methods_supported: ['header']
  }
  test.each([
    { method: 'GET', body: metadata },
    { method: 'HEAD', body: '' }
  ])('metadata, $method: readable from any origin (RFC 9728 §2, §3.2)', async ({ method, body }) => {
    const response = await send(api, requestOf({ method, target: `${METADATA_PATH}?a=b`, headers: [] }))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.body === '' ? '' : JSON.parse(response.body)).toEqual(body)
  })

  test('metadata, preflight request: 204, allowing any header', async () => {
    const response = await send(api, preflight(METADATA_PATH, 'mcp-protocol-version,traceparent'))
    expect([response.status, response.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization, *, mcp-protocol-version,traceparent'
    ])
  })

  test('a preflight request that asks for headers is allowed them by name, if they are a list', async () => {
    const allowed = async (requested: string) => {
      const { headers } = await send(api, preflight('/reports', requested))
      return headers.get('access-control-allow-headers')
    }
    expect(await allowed('sentry-trace, baggage')).toBe('authorization, *, sentry-trace, baggage')
    expect(await allowed('a b')).toBe('authorization, *')
  })

  test('metadata, another method: any origin can read the refusal', async () => {
    const { status, headers } = await send(api, requestOf({ method: 'DELETE', target: METADATA_PATH, headers: [] }))
    expect([status, headers.get('access-control-allow-origin')]).toEqual([adapter.name === 'Fastify' ? 404 : 405, '*'])
    if (status === 405) expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })

  test('without anyOrigin: a preflight request is no exception, and no response names an origin', async () => {
    endpoint.answers(json(live))
    const strict = guardWith(false)
    const strictApi = await adapter.start(strict)
    const refused = await send(strictApi, preflight('/reports'))
    // Fastify has no OPTIONS route then.
    expect(refused.status).toBe(adapter.name === 'Fastify' ? 404 : 401)
    const accepted = await send(strictApi, requestOf())
    expect(accepted.status).toBe(200)
    for (const { headers } of [refused, accepted]) expect(headers.get('access-control-allow-origin')).toBeNull()
    await strictApi.close()
    await strict.close()
  })
})

function preflight(target: string, requested?: string): ApiRequest {
  const asked = ['Access-Control-Request-Method', 'GET'] as const
  const names = requested === undefined ? [] : [['Access-Control-Request-Headers', requested] as const]
  return requestOf({ method: 'OPTIONS', target, headers: [['Origin', 'https://app.example'], asked, ...names] })
}
