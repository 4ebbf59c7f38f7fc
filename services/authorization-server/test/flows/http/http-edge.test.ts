import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { InjectOptions } from 'fastify'
import { COOKIES, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { visibleText } from '../../support/page-content.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'

let server: TestServer
let port: number

beforeAll(async () => {
  server = await startTestServer()
  port = await listenOnFreePort(server.publicServer)
})
afterAll(() => server.close())

const FORM = 'Content-Type: application/x-www-form-urlencoded'
const BODY = 'grant_type=x&client_id=a'
const LENGTH = `Content-Length: ${BODY.length}`
const SMUGGLED = 'GET /errors/smuggled HTTP/1.1\r\nHost: localhost:4000\r\n\r\n'
const NO_CHUNKS = `0\r\n\r\n${SMUGGLED}`

const UNREADABLE = {
  error: 'invalid_request',
  error_description: 'The request could not be read.',
  error_uri: 'http://localhost:4000/errors/invalid_request'
}

const toToken = (headers: readonly string[], body: string) => rawRequest('POST /token', [FORM, ...headers], body)
const chunked = (body: string) => toToken(['Transfer-Encoding: chunked'], `${body}0\r\n\r\n${SMUGGLED}`)
const page = (...headers: string[]) => `${rawRequest('GET /login', headers)}${SMUGGLED}`

describe('a malformed request gets one 400, and the connection ends (RFC 9112 §6.3, §11.2)', () => {
  test.each([
    { name: 'a length and chunks', bytes: toToken(['Content-Length: 4', 'Transfer-Encoding: chunked'], NO_CHUNKS) },
    { name: 'chunks and a length', bytes: toToken(['Transfer-Encoding: chunked', 'Content-Length: 4'], NO_CHUNKS) },
    { name: 'two lengths', bytes: toToken(['Content-Length: 4', 'Content-Length: 6'], `a=bcde${SMUGGLED}`) },
    { name: 'the same length twice', bytes: toToken([LENGTH, LENGTH], BODY + SMUGGLED) },
    { name: 'a list of lengths', bytes: toToken([`${LENGTH}, ${BODY.length}`], BODY + SMUGGLED) },
    { name: 'a length with a sign', bytes: toToken([`Content-Length: +${BODY.length}`], BODY + SMUGGLED) },
    { name: 'a length below zero', bytes: toToken(['Content-Length: -1'], BODY + SMUGGLED) },
    { name: 'a hexadecimal length', bytes: toToken(['Content-Length: 0x18'], BODY + SMUGGLED) },
    { name: 'a length with a space inside', bytes: toToken(['Content-Length: 2 4'], BODY + SMUGGLED) },
    { name: 'a length beyond all numbers', bytes: toToken([`Content-Length: ${'9'.repeat(30)}`], BODY + SMUGGLED) },
    { name: 'chunked, identity', bytes: toToken(['Transfer-Encoding: chunked, identity'], NO_CHUNKS) },
    { name: 'identity', bytes: toToken(['Transfer-Encoding: identity'], BODY + SMUGGLED) },
    { name: 'an encoding that only ends like chunked', bytes: toToken(['Transfer-Encoding: xchunked'], NO_CHUNKS) },
    { name: 'chunked twice', bytes: toToken(Array(2).fill('Transfer-Encoding: chunked'), NO_CHUNKS) },
    { name: 'a vertical tab before chunked', bytes: toToken(['Transfer-Encoding:\x0bchunked'], NO_CHUNKS) },
    {
      name: 'a space before the colon of Transfer-Encoding',
      bytes: toToken(['Transfer-Encoding : chunked'], NO_CHUNKS)
    },
    { name: 'a chunk size that is invalid', bytes: chunked('zz\r\na=b\r\n') },
    { name: 'a chunk size with 0x', bytes: chunked('0x3\r\na=b\r\n') },
    { name: 'a chunk size below zero', bytes: chunked('-3\r\na=b\r\n') },
    { name: 'a chunk size beyond all numbers', bytes: chunked(`${'f'.repeat(17)}\r\na=b\r\n`) },
    { name: 'chunks that end in LF', bytes: chunked('3\na=b\n') },
    { name: 'a chunk longer than its size', bytes: chunked('3\r\na=bXX') },
    { name: 'a folded header', bytes: page('X-A: a', ' folded: b') },
    { name: 'a folded Transfer-Encoding', bytes: toToken(['Transfer-Encoding:', ' chunked'], NO_CHUNKS) },
    { name: 'lines that end in LF only', bytes: page().replaceAll('\r\n', '\n') },
    { name: 'one line that ends in LF', bytes: page('X-A: b').replace('X-A: b\r\n', 'X-A: b\n') },
    { name: 'lines that end in CR only', bytes: page().replaceAll('\r\n', '\r') },
    { name: 'a space before the colon', bytes: page('X-A : b') },
    { name: 'a header without a name', bytes: page(': b') },
    { name: 'a header without a colon', bytes: page('abc') },
    { name: 'a NUL in a header', bytes: page('X-A: a\0b') },
    { name: 'a header name with a bracket', bytes: page('X(A: b') },
    { name: 'no Host', bytes: `GET /login HTTP/1.1\r\nX-A: b\r\n\r\n${SMUGGLED}` },
    { name: 'two Hosts', bytes: page('Host: localhost:4000') },
    {
      name: 'two Hosts that differ, with an absolute target',
      bytes: page('Host: x').replace('/login', 'http://x/login')
    },
    { name: 'a Host that is invalid', bytes: page().replace('Host: localhost:4000', 'Host: local host') },
    { name: 'a Host with a user name', bytes: page().replace('Host: localhost:4000', 'Host: a@localhost') },
    { name: 'an empty Host', bytes: page().replace('Host: localhost:4000', 'Host:') },
    { name: 'two Content-Types', bytes: toToken([LENGTH, 'Content-Type: text/plain'], BODY + SMUGGLED) },
    { name: 'another version', bytes: page().replace('HTTP/1.1', 'HTTP/1.2') },
    { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { name: 'an authority as the target', bytes: `GET localhost:4000 HTTP/1.1\r\nHost: x\r\n\r\n${SMUGGLED}` },
    { name: 'an unknown method', bytes: page().replace('GET', 'STEAL') },
    { name: 'TLS', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' }
  ])('$name', async ({ bytes }) => {
    const { answers, isClosed } = await sendRaw(port, Buffer.from(bytes, 'latin1'))
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(isClosed).toBe(true)
    expect(answers[0]?.headers).toMatchObject({
      connection: 'close',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String)
    })
    // A page at the address of a page, and JSON everywhere else.
    const isPage = /^[A-Z]+ \/login /.test(bytes)
    if (isPage) expect(visibleText(answers[0]?.body ?? '')).toContain('This request could not be read')
    else expect(JSON.parse(answers[0]?.body ?? '')).toEqual(UNREADABLE)
  })

  test('CONNECT is closed without a tunnel or a response', async () => {
    const { answers, isClosed } = await sendRaw(port, 'CONNECT localhost:4001 HTTP/1.1\r\nHost: x\r\n\r\n')
    expect([answers, isClosed]).toEqual([[], true])
  })
})

describe('sizes', () => {
  test.each([
    { name: 'a request line over 16 KiB', bytes: rawRequest(`GET /login?${'a'.repeat(17_000)}`), status: 431 },
    { name: 'a header over 16 KiB', bytes: page(`X-A: ${'a'.repeat(17_000)}`), status: 431 },
    { name: 'headers over 16 KiB', bytes: page(...Array(200).fill(`X-A: ${'a'.repeat(90)}`)), status: 431 },
    {
      name: 'a body over 16 KiB',
      bytes: toToken(['Content-Length: 20000'], 'a'.repeat(20_000)) + SMUGGLED,
      status: 413
    },
    { name: 'chunks over 16 KiB', bytes: chunked(`4e20\r\n${'a'.repeat(20_000)}\r\n`), status: 413 },
    { name: 'the announcement of a gigabyte', bytes: toToken(['Content-Length: 1000000000'], BODY), status: 413 }
  ])('$name: $status, and the connection ends', async ({ bytes, status }) => {
    const { answers, isClosed } = await sendRaw(port, bytes)
    expect(answers.map((answer) => answer.status)).toEqual([status])
    expect(isClosed).toBe(true)
    expect(answers[0]?.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String)
    })
  })

  test('200 headers are accepted', async () => {
    const headers = Array.from({ length: 200 }, (_, index) => `X-${index}: a`)
    const { answers } = await sendRaw(port, rawRequest('GET /errors/invalid_grant', headers))
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('well-formed requests are framed as sent', () => {
  test('pipelined requests get their responses one by one, in order', async () => {
    const bytes = toToken([LENGTH], BODY) + rawRequest('GET /errors/invalid_grant') + SMUGGLED
    const { answers, isClosed } = await sendRaw(port, bytes)
    expect(answers.map(({ status }) => status)).toEqual([401, 200, 404])
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(3)
    expect(isClosed).toBe(false)
  })

  test('malformed data after a valid request ends the connection with one 400', async () => {
    const { answers, isClosed } = await sendRaw(
      port,
      `${rawRequest('GET /errors/invalid_grant')}garbage\r\n\r\n${SMUGGLED}`
    )
    expect(answers.at(-1)?.status).toBe(400)
    expect(answers.filter(({ status }) => status === 404)).toEqual([])
    expect(isClosed).toBe(true)
  })

  test('data after a request with Connection: close gets no response (RFC 9112 §9.6)', async () => {
    const bytes = rawRequest('GET /errors/invalid_grant', ['Connection: close']) + SMUGGLED
    const { answers, isClosed } = await sendRaw(port, bytes)
    expect([answers.map(({ status }) => status), isClosed]).toEqual([[200], true])
  })

  test('a body that no route reads is not parsed as the next request', async () => {
    const bytes = rawRequest('GET /errors/invalid_grant', [`Content-Length: ${SMUGGLED.length}`], SMUGGLED)
    const { answers } = await sendRaw(port, bytes)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  test('a trailer after the chunks is not used as Authorization header', async () => {
    const secret = Buffer.from('client:secret').toString('base64')
    const body = `18\r\n${BODY}\r\n0\r\nAuthorization: Basic ${secret}\r\n\r\n`
    const { answers } = await sendRaw(port, toToken(['Transfer-Encoding: chunked'], body))
    expect(answers.map(({ status, headers }) => [status, headers['www-authenticate']])).toEqual([[401, undefined]])
  })

  test('the host of an absolute target and the Host header are ignored (contract 1)', async () => {
    const target = 'http://evil.example/.well-known/oauth-authorization-server'
    const { answers } = await sendRaw(
      port,
      `GET ${target} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n\r\n`
    )
    expect(answers.map(({ status }) => status)).toEqual([200])
    expect(answers[0]?.body).not.toContain('evil.example')
  })

  test('100-continue is supported; another expectation is 417 (RFC 9110 §10.1.1)', async () => {
    const honoured = await sendRaw(port, toToken([LENGTH, 'Expect: 100-continue'], BODY))
    expect(honoured.answers.map(({ status }) => status)).toEqual([100, 401])
    const refused = await sendRaw(port, toToken([LENGTH, 'Expect: something'], BODY + SMUGGLED))
    expect(refused.answers.map(({ status }) => status)).toEqual([417])
    expect(refused.isClosed).toBe(true)
  })

  test('two Cookie headers are joined (RFC 9113 §8.2.3)', async () => {
    const first = await sendRaw(port, rawRequest('GET /login'))
    const [cookie = ''] = first.answers[0]?.headers['set-cookie']?.split(';') ?? []
    const again = await sendRaw(port, rawRequest('GET /login', ['Cookie: a=b', `Cookie: ${cookie}`]))
    expect(again.answers[0]?.status).toBe(200)
    expect([cookie, again.answers[0]?.headers['set-cookie']]).toEqual([expect.stringMatching(/=/), undefined])
  })

  test('two Authorization headers are refused, even if the first is valid', async () => {
    const one = `Authorization: Basic ${Buffer.from('a:b').toString('base64')}`
    const { answers } = await sendRaw(port, toToken([LENGTH, one, one], BODY))
    expect(answers.map(({ status, body }) => [status, JSON.parse(body).error])).toEqual([[400, 'invalid_request']])
  })

  test('an upgrade is refused', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      const headers = [`Upgrade: ${protocol}`, 'Connection: Upgrade']
      const { answers } = await sendRaw(port, rawRequest('GET /errors/invalid_grant', headers))
      expect(answers.map(({ status }) => status)).toEqual([200])
    }
  })
})

describe('methods and paths', () => {
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
  })

  test.each(ROUTES.filter(({ allow }) => allow.includes('HEAD')))(
    '$path: HEAD has the headers of GET and no body',
    async ({ path }) => {
      const [head, get] = [await inject({ method: 'HEAD', url: path }), await inject({ method: 'GET', url: path })]
      expect([head.statusCode, head.body]).toEqual([get.statusCode, ''])
      expect(head.headers['content-type']).toBe(get.headers['content-type'])
    }
  )

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
})

describe('slow senders', () => {
  // Node looks for slow senders every five seconds, so this takes that long however short the limits are.
  const LIMITS = { headersTimeout: 300, requestTimeout: 600 }

  test.each([
    { name: 'public', listener: () => server.publicServer },
    { name: 'internal', listener: () => server.internalServer },
    { name: 'operator', listener: () => server.operatorServer }
  ])('the $name listener disconnects a slow sender within 75 seconds', ({ listener }) => {
    const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = listener().server
    expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
      headersTimeout: 20_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      timeout: 60_000
    })
  })

  test('a request that is never completed gets 408, and its connection ends', async () => {
    Object.assign(server.publicServer.server, LIMITS)
    const answers = await Promise.all([
      dribble('GET /login HTTP/1.1\r\nHost: x\r\nX-A: ', 'a'),
      dribble(
        'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n',
        'a'
      ),
      dribble(
        'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n',
        '1\r\na\r\n'
      ),
      dribble('', '')
    ])
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 /)
      expect(answer).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/)
      expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    }
  })

  /** Sends the start of a request and then single bytes until the connection ends; returns the response. */
  async function dribble(start: string, more: string): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(start)
    const timer = setInterval(() => socket.writable && socket.write(more), 100)
    socket.once('end', () => clearInterval(timer))
    const answer = await text(socket)
    clearInterval(timer)
    return answer
  }
})
