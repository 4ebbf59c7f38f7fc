import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from '@jest/globals'
import { buildLogger } from '../../src/process/logger.js'
import { type BuildServerOptions, buildServer } from '../../src/server/build-server.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

let server: ReturnType<typeof buildServer>
let lines: Record<string, unknown>[]

afterEach(() => server.close())

function build(options: Partial<BuildServerOptions> = {}) {
  lines = []
  const logger = buildLogger('test', 'debug', { write: (line) => lines.push(JSON.parse(line)) })
  server = buildServer({ logger, ...options })
  server.get('/', async (request) => ({ address: request.ip }))
  server.get('/livez', async () => ({}))
  server.post('/', async () => ({}))
  return server
}

/** Sends bytes and reads until the connection ends. */
async function exchangeBytes(bytes: string): Promise<string> {
  await server.listen({ host: '127.0.0.1', port: 0 })
  const address = server.server.address()
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}

test('the time limits for a slow sender add up to less than 75 seconds', () => {
  const { server: listener } = build()
  expect(listener).toMatchObject({ headersTimeout: 20_000, requestTimeout: 30_000, keepAliveTimeout: 65_000 })
  expect(listener.timeout).toBe(60_000)
  // Node checks the limits at this interval, so a sender may take that much longer.
  expect(Reflect.get(listener, 'connectionsCheckingInterval')).toBe(5_000)
})

test('every response has a generated request id and nosniff, also a 404', async () => {
  for (const url of ['/', '/nothing']) {
    const { headers } = await build().inject({ url, headers: { 'x-request-id': 'from-outside' } })
    expect(headers['x-request-id']).toMatch(UUID)
    expect(headers['x-content-type-options']).toBe('nosniff')
  }
})

test.each([
  { given: 'gateway-1234.AB_c', kept: true },
  { given: 'eight888', kept: true },
  { given: 'x'.repeat(64), kept: true },
  { given: 'seven77', kept: false },
  { given: 'x'.repeat(65), kept: false },
  { given: 'line\tbreak', kept: false },
  { given: 'a"quote-and-more', kept: false }
])('with keepsRequestId, a safe request id is kept: $given', async ({ given, kept }) => {
  const { headers } = await build({ keepsRequestId: true }).inject({ url: '/', headers: { 'x-request-id': given } })
  expect(headers['x-request-id'] === given).toBe(kept)
})

test.each([
  { given: 'gateway-1234,gateway-5678', logged: ['gateway-1234', 'gateway-5678'] },
  { given: Array.from({ length: 63 }, () => 'eight888').join(','), logged: Array(63).fill('eight888') },
  { given: Array.from({ length: 64 }, () => 'eight888').join(','), logged: undefined },
  { given: 'gateway-1234,a"quote-and-more', logged: undefined },
  { given: 'gateway-1234, gateway-5678', logged: undefined },
  { given: '', logged: undefined }
])('with keepsRequestId, a safe list of other request ids is logged: $given', async ({ given, logged }) => {
  await build({ keepsRequestId: true }).inject({ url: '/', headers: { 'x-other-request-ids': given } })
  expect(lines.map(({ otherReqIds }) => otherReqIds)).toEqual([logged])
})

test('without keepsRequestId, ids from the caller are not logged', async () => {
  await build().inject({ url: '/', headers: { 'x-other-request-ids': 'gateway-1234' } })
  expect(lines[0]).not.toHaveProperty('otherReqIds')
})

test.each([
  { name: 'no proxy is trusted by default', trusted: [], from: '10.0.0.1', address: '10.0.0.1' },
  { name: 'the header of a trusted proxy counts', trusted: ['10.0.0.0/8'], from: '10.0.0.1', address: '203.0.113.7' },
  { name: 'the header of another peer does not', trusted: ['10.0.0.0/8'], from: '192.0.2.1', address: '192.0.2.1' }
])('the client address: $name, without port, in every scope', async ({ trusted, from, address }) => {
  build({ trustedProxies: trusted })
  server.register(async (inner) => {
    inner.decorateRequest('session', null)
    inner.get('/inner', async (request) => ({ address: request.ip }))
  })
  for (const url of ['/', '/inner']) {
    for (const value of ['203.0.113.7', '198.51.100.1, 203.0.113.7:40001', '[::ffff:203.0.113.7]:443']) {
      const headers = { 'x-forwarded-for': value }
      expect((await server.inject({ url, remoteAddress: from, headers })).json().address).toBe(address)
    }
    const headers = { forwarded: 'for="203.0.113.7:40001"' }
    expect((await server.inject({ url, remoteAddress: from, headers })).json().address).toBe(address)
  }
})

test('several X-Forwarded-For headers are one list', async () => {
  build({ trustedProxies: ['127.0.0.1'] })
  const lines = ['X-Forwarded-For: 198.51.100.1', 'X-Forwarded-For: 203.0.113.7:40001', 'Connection: close']
  expect(await exchangeBytes(`GET / HTTP/1.1\r\nHost: x\r\n${lines.join('\r\n')}\r\n\r\n`)).toContain(
    '{"address":"203.0.113.7"}'
  )
})

test('the client address is known after the connection has ended', async () => {
  build()
  let address: string | undefined
  const isAnswered = new Promise<void>((resolve) => {
    server.get('/late', async (request, reply) => {
      if (!request.raw.socket.destroyed) await new Promise((ended) => request.raw.socket.once('close', ended))
      address = request.ip
      reply.hijack()
      resolve()
    })
  })
  await server.listen({ host: '127.0.0.1', port: 0 })
  const listening = server.server.address()
  const socket = connect(typeof listening === 'object' ? (listening?.port ?? 0) : 0, '127.0.0.1')
  socket.write('GET /late HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.destroy())
  await isAnswered
  expect(address).toBe('127.0.0.1')
})

test.each([
  { size: 16 * 1024, limit: undefined, status: 200 },
  { size: 16 * 1024 + 1, limit: undefined, status: 413 },
  { size: 101, limit: 100, status: 413 }
])('a body of $size bytes with the limit $limit is $status', async ({ size, limit, status }) => {
  build(limit === undefined ? {} : { bodyLimit: limit })
  const payload = 'x'.repeat(size)
  const answer = await server.inject({ method: 'POST', url: '/', headers: { 'content-type': 'text/plain' }, payload })
  expect(answer.statusCode).toBe(status)
})

test('a routine route is logged below info, unless it fails', async () => {
  build()
  server.get('/pulse', { config: { isRoutine: true } }, async (request, reply) => {
    if (request.headers['x-bad'] !== undefined) reply.code(401)
    return {}
  })
  await server.inject('/pulse')
  await server.inject({ url: '/pulse', headers: { 'x-bad': '1' } })
  expect(lines.map(({ level, status }) => ({ level, status }))).toEqual([
    { level: 'debug', status: 200 },
    { level: 'info', status: 401 }
  ])
})

test('the log has no query, and probes are below info', async () => {
  build()
  await server.inject('/?code=hush')
  await server.inject('/livez')
  expect(lines.map(({ level, event, route, status }) => ({ level, event, route, status }))).toEqual([
    { level: 'info', event: 'request', route: '/', status: 200 },
    { level: 'debug', event: 'request', route: '/livez', status: 200 }
  ])
  expect(JSON.stringify(lines)).not.toContain('hush')
})

test.each([
  { name: 'not HTTP', bytes: 'no-http\r\n\r\n', status: 400 },
  {
    name: 'a header section over 16 KiB',
    bytes: `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(17_000)}\r\n\r\n`,
    status: 431
  },
  {
    name: 'a path with malformed encoding',
    bytes: 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    status: 400
  },
  { name: 'no Host (RFC 9112 3.2)', bytes: 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', status: 400 },
  { name: 'two Hosts', bytes: 'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n', status: 400 },
  {
    name: 'the same Host twice',
    bytes: 'GET / HTTP/1.1\r\nHost: x\r\nhOST: x\r\nConnection: close\r\n\r\n',
    status: 400
  },
  { name: 'two Hosts of HTTP/1.0', bytes: 'GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n', status: 400 },
  {
    name: 'two Hosts with an absolute URL',
    bytes: 'GET http://x/ HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
    status: 400
  },
  {
    name: 'no Host with an absolute URL',
    bytes: 'GET http://x/ HTTP/1.1\r\nConnection: close\r\n\r\n',
    status: 400
  },
  {
    name: 'two Content-Types',
    bytes:
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\na',
    status: 400
  },
  {
    name: 'an unknown expectation (RFC 9110 10.1.1)',
    bytes: 'GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n',
    status: 417
  }
])('$name: $status, as JSON with nosniff and the request id of the log', async ({ bytes, status }) => {
  build()
  const answer = await exchangeBytes(bytes)
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(answer).toMatch(/\r\nX-Content-Type-Options: nosniff\r\n/i)
  expect(answer).toMatch(/\r\nCache-Control: no-store\r\n/i)
  expect(answer).toMatch(/\r\nContent-Type: application\/problem\+json; charset=utf-8\r\n/i)
  expect(answer).toMatch(/\r\nConnection: close\r\n/i)
  const [, body = ''] = answer.split('\r\n\r\n')
  const title = expect.any(String)
  expect(JSON.parse(body)).toEqual({ title, status, detail: 'The request could not be read.' })
  const id = /\r\nX-Request-Id: ([^\r]+)\r\n/i.exec(answer)?.[1]
  expect(id).toMatch(UUID)
  expect(lines.map(({ reqId }) => reqId)).toContain(id)
  expect(JSON.stringify(lines)).not.toContain('hush')
})
