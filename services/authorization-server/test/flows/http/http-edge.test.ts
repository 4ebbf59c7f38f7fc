import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
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
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual(UNREADABLE)
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

describe('a body with a content coding (RFC 9110 §15.5.16)', () => {
  const gzipped = gzipSync(BODY)
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
      ...UNREADABLE,
      error_description: 'The body must not be compressed: send it without Content-Encoding.'
    })
  })

  test.each(['/login', '/consent', '/logout', '/account/passkeys/remove', '/login/passkey'])(
    '%s: 415 with a page',
    async (url) => {
      const answer = await send('publicServer', url, { accept: 'text/html' })
      expect([answer.statusCode, answer.headers['accept-encoding']]).toEqual([415, 'identity'])
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    }
  )

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
