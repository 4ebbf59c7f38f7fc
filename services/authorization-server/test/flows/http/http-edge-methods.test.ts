import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { InjectOptions } from 'fastify'
import { COOKIES, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'

let server: TestServer
let port: number

beforeAll(async () => {
  server = await startTestServer()
  port = await listenOnFreePort(server.publicServer)
})
afterAll(() => server.close())

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const ROUTES = [
  { path: '/oauth/authorize', allow: 'GET', preflight: false },
  { path: '/login', allow: 'GET, HEAD, POST', preflight: false },
  { path: '/logout', allow: 'GET, HEAD, POST', preflight: false },
  { path: '/consent', allow: 'GET, HEAD, POST', preflight: false },
  { path: '/errors/invalid_grant', allow: 'GET, HEAD', preflight: false },
  { path: '/assets/style.css', allow: 'GET, HEAD', preflight: false },
  { path: '/assets/icon.svg', allow: 'GET, HEAD', preflight: false },
  { path: '/token', allow: 'POST', preflight: true },
  { path: '/oauth/revoke', allow: 'POST', preflight: true },
  { path: '/.well-known/oauth-authorization-server', allow: 'GET, HEAD', preflight: true }
]

const inject = (options: InjectOptions) => server.publicServer.inject(options)

describe.each(ROUTES)('$path', ({ path, allow, preflight }) => {
  test.each(['TRACE', 'PUT', 'DELETE', 'PATCH', 'GET', 'POST', 'HEAD'] as const)(
    '%s is 405 with Allow and no store, unless it is allowed (RFC 9110 15.5.6)',
    async (method) => {
      const { answers } = await sendRaw(
        port,
        rawRequest(`${method} ${path}`, ['Content-Length: 0', 'Connection: close'])
      )
      const [answer] = answers
      expect(answer?.headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
      expect(answer?.headers['x-request-id']).toMatch(UUID)
      if (allow.split(', ').includes(method)) {
        expect(answer?.status).not.toBe(405)
      } else {
        expect([answer?.status, answer?.headers.allow]).toEqual([405, allow])
        expect(answer?.headers['cache-control']).toBe('no-store')
      }
    }
  )

  test('OPTIONS is a preflight at endpoints for apps, and 405 at others', async () => {
    const answer = await inject({ method: 'OPTIONS', url: path })
    expect(answer.statusCode).toBe(preflight ? 204 : 405)
    expect(answer.headers.allow).toBe(preflight ? undefined : allow)
  })

  test('HEAD has the headers of GET and no body', async () => {
    if (!allow.includes('HEAD')) return
    const [head, get] = [await inject({ method: 'HEAD', url: path }), await inject({ method: 'GET', url: path })]
    expect([head.statusCode, head.body]).toEqual([get.statusCode, ''])
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  })
})

test('TRACE does not return the request (RFC 9110 §9.3.8)', async () => {
  const { answers } = await sendRaw(
    port,
    rawRequest('TRACE /login?q=hush', [`Cookie: ${COOKIES.session}=hush`, 'X-A: hush'])
  )
  expect(answers.map(({ status }) => status)).toEqual([405])
  expect(JSON.stringify(answers)).not.toContain('hush')
})

test('the path of an error page with another method is 405, an unknown path is 404', async () => {
  const url = '/errors/invalid_grant'
  expect((await inject({ method: 'POST', url })).statusCode).toBe(405)
  for (const unknown of ['/errors', '/errors/', `${url}/x`, '/errors//', '/nothing'])
    expect([unknown, (await inject({ method: 'POST', url: unknown })).statusCode]).toEqual([unknown, 404])
})

test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])('%s is ignored', async (name) => {
  const get = await inject({ method: 'GET', url: '/token?_method=POST', headers: { [name]: 'POST' } })
  expect([get.statusCode, get.headers.allow]).toEqual([405, 'POST'])
  const post = await inject({ method: 'POST', url: '/oauth/authorize', headers: { [name]: 'GET' } })
  expect(post.statusCode).toBe(405)
})

test('the body of a 405 and a 404 is JSON for programs and a page for browsers', async () => {
  const json = await inject({ method: 'GET', url: '/token', headers: { accept: 'text/html' } })
  expect(json.json()).toMatchObject({ error: 'invalid_request', error_description: 'The method must be POST.' })
  expect((await inject({ url: '/nothing' })).json()).toMatchObject({ error: 'invalid_request' })
  const page = await inject({ url: '/nothing', headers: { accept: 'text/html,*/*' } })
  expect([page.statusCode, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
})

describe('paths', () => {
  test.each([
    { path: '/%zz', status: 400 },
    { path: '/%', status: 400 },
    { path: '/%c0%af', status: 400 },
    { path: '/%ff', status: 400 },
    { path: '/%E0%A4%A', status: 400 },
    { path: '/errors/%zz', status: 400 },
    { path: `/errors/${'a'.repeat(600)}`, status: 400 },
    { path: '/%00', status: 404 },
    { path: '/errors/%00', status: 404 },
    { path: '/login%00', status: 404 },
    { path: '/login%2f', status: 404 },
    { path: '/login/', status: 404 },
    { path: '/LOGIN', status: 404 },
    { path: '/login;x=y', status: 404 },
    { path: '//evil.example/login', status: 404 },
    { path: '/\\evil.example', status: 404 },
    { path: '/..%2f..%2fetc/passwd', status: 404 },
    { path: '/assets/../login', status: 404 },
    { path: '/assets/%2e%2e/%2e%2e/package.json', status: 404 },
    { path: '/assets/', status: 404 },
    { path: '/__proto__', status: 404 },
    { path: '/errors/__proto__', status: 404 },
    { path: '/errors/constructor', status: 404 }
  ])('$path is $status and reveals no internals', async ({ path, status }) => {
    const { answers } = await sendRaw(port, rawRequest(`GET ${path}`, ['Connection: close']))
    expect(answers.map((answer) => answer.status)).toEqual([status])
    expect(answers[0]?.headers).not.toHaveProperty('location')
    expect(answers[0]?.headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
    expect(JSON.stringify(answers)).not.toMatch(/FST_|fastify|node_modules|at \w+ \(|evil\.example/i)
  })
})

describe('every response', () => {
  const requests = [
    ...ROUTES.map(({ path }) => rawRequest(`GET ${path}`)),
    rawRequest('GET /nothing'),
    rawRequest('GET /%zz'),
    rawRequest('POST /token', ['Content-Type: application/json', 'Content-Length: 2'], '{}'),
    rawRequest('POST /login', ['Content-Type: text/xml', 'Content-Length: 2'], '<>'),
    rawRequest('POST /token', ['Content-Length: 99999999']),
    'nonsense\r\n\r\n'
  ]
  test.each(requests)('%#: no server name, version or stack; a generated request id and nosniff', async (bytes) => {
    const withId = bytes.replace(
      'Host: localhost:4000\r\n',
      'Host: localhost:4000\r\nX-Request-Id: from-outside-1234\r\n'
    )
    const { answers } = await sendRaw(port, withId, { quietMs: 60 })
    expect(answers).toHaveLength(1)
    for (const name of ['server', 'x-powered-by', 'via']) expect(answers[0]?.headers).not.toHaveProperty(name)
    expect(JSON.stringify(answers)).not.toMatch(/fastify|nodejs|node\/|v?20\.\d+\.\d+|node_modules|\.ts:|\.js:/i)
    expect(answers[0]?.headers['x-request-id']).toMatch(UUID)
    expect(answers[0]?.headers['x-content-type-options']).toBe('nosniff')
  })
})

describe('listeners (contract 1)', () => {
  test.each(['/introspect', '/revocations', '/readyz', '/livez', '/metrics', '/admin', '/admin/clients'])(
    '%s is not on the public one',
    async (url) => {
      for (const method of ['GET', 'POST'] as const) expect((await inject({ method, url })).statusCode).toBe(404)
    }
  )

  test('the internal listener has introspection and no endpoint of the others', async () => {
    for (const url of ['/token', '/login', '/oauth/authorize', '/readyz', '/admin'])
      expect((await server.internalServer.inject({ url })).statusCode).toBe(404)
    const answer = await server.internalServer.inject({ url: '/introspect' })
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
  })

  test('the operator listener has neither introspection nor pages', async () => {
    for (const url of ['/token', '/login', '/introspect'])
      expect((await server.operatorServer.inject({ method: 'POST', url })).statusCode).toBe(404)
    expect((await server.operatorServer.inject('/livez')).statusCode).toBe(200)
  })

  test('only the internal listener keeps a request id of the caller', async () => {
    const headers = { 'x-request-id': 'from-outside-1234' }
    const ids = await Promise.all(
      [server.publicServer, server.internalServer, server.operatorServer].map(
        async (listener) => (await listener.inject({ url: '/nothing', headers })).headers['x-request-id']
      )
    )
    expect(ids).toEqual([expect.stringMatching(UUID), 'from-outside-1234', expect.stringMatching(UUID)])
  })
})
