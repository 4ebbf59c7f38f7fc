import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { formPaths } from '../../support/registered-routes.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const origin = 'https://spa.example'
const METADATA = '/.well-known/oauth-authorization-server'
const BASE_HEADERS = 'authorization, content-type, mcp-protocol-version'

const preflight = (url: string, method: string, requested?: string) => ({
  method: 'OPTIONS' as const,
  url,
  headers: {
    origin,
    'access-control-request-method': method,
    ...(requested !== undefined && { 'access-control-request-headers': requested })
  }
})

describe('CORS (OAuth 2.1 3.1, 3.2)', () => {
  test.each([
    { url: '/token', method: 'POST' },
    { url: '/oauth/revoke', method: 'POST' },
    { url: METADATA, method: 'GET' },
    { url: '/openapi.json', method: 'GET' },
    { url: '/.well-known/openid-configuration', method: 'GET' },
    { url: '/token/unknown', method: 'POST' },
    { url: '/token/', method: 'PUT' }
  ])('a preflight for $method $url allows any origin and any header', async ({ url, method }) => {
    const { statusCode, headers, body } = await server.publicServer.inject(preflight(url, method))
    expect([statusCode, body]).toEqual([204, ''])
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['access-control-allow-methods']).toBe(method)
    expect(headers['access-control-allow-headers']).toBe(BASE_HEADERS)
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  })

  test.each([
    ['traceparent,tracestate', 'traceparent, tracestate'],
    ['authorization, Sentry-Trace ,baggage', 'sentry-trace, baggage'],
    ['x-b3-traceid', 'x-b3-traceid']
  ])('a preflight that asks for %s is allowed them', async (requested, added) => {
    for (const url of ['/token', '/oauth/revoke', METADATA]) {
      const { headers } = await server.publicServer.inject(preflight(url, 'POST', requested))
      expect(headers['access-control-allow-headers']).toBe(`${BASE_HEADERS}, ${added}`)
    }
  })

  test('a preflight for another method allows it too, so that a script can read the 405', async () => {
    const { headers } = await server.publicServer.inject(preflight('/token', 'PUT'))
    expect(headers['access-control-allow-methods']).toBe('POST, PUT')
  })

  test.each(['a b', 'a,,b', 'a;b', ',', ''])(
    'a preflight that asks for %j, no list, is not given it',
    async (requested) => {
      const { statusCode, headers } = await server.publicServer.inject(preflight('/token', 'POST', requested))
      expect([statusCode, headers['access-control-allow-headers']]).toEqual([204, BASE_HEADERS])
    }
  )

  test.each([
    { status: 405, method: 'GET' as const, url: '/token' },
    { status: 405, method: 'PUT' as const, url: '/oauth/revoke' },
    { status: 405, method: 'POST' as const, url: METADATA },
    { status: 405, method: 'POST' as const, url: '/openapi.json' },
    { status: 404, method: 'GET' as const, url: '/.well-known/openid-configuration' },
    { status: 404, method: 'POST' as const, url: '/token/unknown' },
    { status: 413, method: 'POST' as const, url: '/token', payload: 'x'.repeat(17_000) },
    { status: 400, method: 'POST' as const, url: '/token', payload: '{}' }
  ])('any origin can read a $status: $method $url', async ({ status, ...request }) => {
    const contentType = request.payload === '{}' ? 'application/json' : 'application/x-www-form-urlencoded'
    const answer = await server.publicServer.inject({ ...request, headers: { origin, 'content-type': contentType } })
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    expect(answer.headers['access-control-expose-headers']).toContain('x-request-id')
  })

  test('any origin can read an error of the token endpoint with its challenge', async () => {
    const answer = await server.publicServer.inject({ method: 'POST', url: '/token' })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['access-control-allow-origin']).toBe('*')
    expect(answer.headers['access-control-expose-headers']).toContain('www-authenticate')
  })

  test.each(['/oauth/authorize', '/login', '/consent', '/logout', '/account/apps', '/tokens', '/unknown'])(
    '%s allows no origin, neither for a preflight nor for a request',
    async (url) => {
      const answers = await Promise.all([
        server.publicServer.inject(preflight(url, 'GET')),
        server.publicServer.inject({ method: 'GET', url, headers: { origin } })
      ])
      for (const { headers } of answers) expect(headers).not.toHaveProperty('access-control-allow-origin')
      expect(answers[0]?.statusCode).toBeGreaterThanOrEqual(404)
    }
  )
})

test('with an issuer that has a path, the paths below it and the metadata are open, and no page is', async () => {
  const issuer = 'https://auth.example/tenant'
  const other = await startTestServer({ ISSUER: issuer })
  const allowed = async (url: string) => {
    const { headers } = await other.publicServer.inject({ method: 'GET', url, headers: { origin } })
    return headers['access-control-allow-origin']
  }
  const open = ['/tenant/token', `${METADATA}/tenant`, '/tenant/.well-known/openid-configuration', '/.well-known/x']
  for (const url of open) expect([url, await allowed(url)]).toEqual([url, '*'])
  for (const url of ['/token', '/tenant/login', '/tenant']) expect([url, await allowed(url)]).toEqual([url, undefined])
  await other.close()
})

describe('a body with a content coding (RFC 9110 §15.5.16)', () => {
  const gzipped = gzipSync('grant_type=x&client_id=a')
  const send = (on: 'publicServer' | 'internalServer' | 'operatorServer', url: string, headers = {}) =>
    server[on].inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip', ...headers },
      payload: gzipped
    })

  test.each([
    { on: 'publicServer' as const, url: '/token' },
    { on: 'publicServer' as const, url: '/oauth/revoke' },
    { on: 'internalServer' as const, url: '/introspect' },
    { on: 'internalServer' as const, url: '/introspections' },
    { on: 'internalServer' as const, url: '/revocations' }
  ])('$url: 415 invalid_request, which accepts identity only', async ({ on, url }) => {
    const answer = await send(on, url)
    expect(answer.statusCode).toBe(415)
    expect(answer.headers['accept-encoding']).toBe('identity')
    expect(answer.json()).toEqual({
      error: 'invalid_request',
      error_uri: 'http://localhost:4000/errors/invalid_request',
      error_description: 'The body must not be compressed: send it without Content-Encoding.'
    })
  })

  test('every form: 415 with a page', async () => {
    const forms = formPaths(server)
    expect(forms).toEqual(expect.arrayContaining(['/login', '/consent', '/logout', '/account/apps/end']))
    for (const url of forms) {
      const { statusCode, headers } = await send('publicServer', url, { accept: 'text/html' })
      expect([url, statusCode, headers['accept-encoding']]).toEqual([url, 415, 'identity'])
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
    }
  })

  test.each(['gzip', 'x-gzip', 'br', 'deflate', 'zstd', 'GZIP', 'gzip, identity', 'identity, br', 'unknown'])(
    '%s is 415',
    async (coding) => {
      expect((await send('publicServer', '/token', { 'content-encoding': coding })).statusCode).toBe(415)
    }
  )

  test.each(['', 'identity', 'Identity', 'identity, identity'])('%j is no coding', async (coding) => {
    expect((await send('publicServer', '/token', { 'content-encoding': coding })).statusCode).not.toBe(415)
  })

  test('without a body, or where no body is read, the header is ignored', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const statusOf = async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: Buffer) =>
      (await server.publicServer.inject({ method, url, headers, ...(payload && { payload }) })).statusCode
    expect(await statusOf('GET', '/login')).toBe(200)
    expect(await statusOf('POST', '/token')).toBe(401)
    expect(await statusOf('PUT', '/token', gzipped)).toBe(405)
    expect(await statusOf('POST', '/unknown', gzipped)).toBe(404)
  })
})
