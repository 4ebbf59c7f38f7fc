import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type FetchDeps, fetchDocument } from '../../../src/platform/fetch/fetch-document.js'
import type { ResolvedAddress } from '../../../src/platform/fetch/resolve-host.js'
import { until } from '../../support/authorization-server.js'
import {
  APP_HOST,
  type DocumentServer,
  type Respond,
  sendJson,
  startDocumentServer
} from '../../support/document-server.js'

const LOOPBACK: readonly ResolvedAddress[] = [{ address: '127.0.0.1', family: 4 }]

let server: DocumentServer

beforeAll(async () => {
  server = await startDocumentServer()
})
afterAll(() => server.close())

function fetchFrom(respond: Respond, change: Partial<FetchDeps> = {}) {
  const path = `/${Math.random()}`
  server.respond(path, respond)
  return fetchDocument(server.urlOf(path, APP_HOST), { ...deps(), ...change })
}

function deps(): FetchDeps {
  const { signal } = new AbortController()
  return { resolve: async () => LOOPBACK, allowsLoopback: true, ca: server.ca, maxBytes: 5 * 1024, signal }
}

function send(status: number, headers: Record<string, string>, body = ''): Respond {
  return (response) => response.writeHead(status, headers).end(body)
}

const JSON_TYPE = { 'content-type': 'application/json' }

describe('fetch of a document (draft-ietf-oauth-client-id-metadata-document-02 §5)', () => {
  test('returns the text and Cache-Control, and sends the host of the URL but no cookies', async () => {
    const seen: Record<string, unknown>[] = []
    const fetched = await fetchFrom((response, request) => {
      seen.push({ method: request.method, ...request.headers })
      sendJson({ a: 1 }, { 'cache-control': 'max-age=60' })(response, request)
    })
    expect(fetched).toEqual({ kind: 'fetched', text: '{"a":1}', cacheControl: 'max-age=60' })
    const { port } = server
    expect(seen).toEqual([
      {
        method: 'GET',
        host: `${APP_HOST}:${port}`,
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'Valetkey',
        connection: 'close'
      }
    ])
  })

  test.each(['application/json; charset=utf-8', 'application/cimd+json', 'Application/JSON'])(
    'has the media type %s',
    async (type) => {
      expect((await fetchFrom(send(200, { 'content-type': type }, '{}'))).kind).toBe('fetched')
    }
  )

  test.each([
    ['301', send(301, { location: '/elsewhere' }), 'document_redirect'],
    ['302 to an internal address', send(302, { location: 'http://169.254.169.254/' }), 'document_redirect'],
    ['304', send(304, {}), 'document_redirect'],
    ['404', send(404, JSON_TYPE, '{}'), 'document_missing'],
    ['410', send(410, JSON_TYPE, '{}'), 'document_missing'],
    ['401', send(401, JSON_TYPE, '{}'), 'document_status'],
    ['201', send(201, JSON_TYPE, '{}'), 'document_status'],
    ['500', send(500, JSON_TYPE, '{}'), 'document_server_error'],
    ['429', send(429, JSON_TYPE, '{}'), 'document_server_error'],
    ['HTML', send(200, { 'content-type': 'text/html' }, '{}'), 'document_media_type'],
    [
      'a media type that only begins like JSON',
      send(200, { 'content-type': 'application/jsonp' }, '{}'),
      'document_media_type'
    ],
    ['no media type', send(200, {}, '{}'), 'document_media_type'],
    ['compression', send(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, '{}'), 'document_encoded'],
    ['a document of 5,121 bytes', send(200, JSON_TYPE, ' '.repeat(5_121)), 'document_too_large'],
    ['text that is not UTF-8', (r) => void r.writeHead(200, JSON_TYPE).end(Buffer.from([0xff])), 'document_not_json'],
    ['headers of 20 KB', send(200, { ...JSON_TYPE, 'x-long': 'x'.repeat(20_000) }, '{}'), 'document_connection_failed'],
    ['an interim response', (r) => r.writeEarlyHints({ link: '</a>; rel=preload' }), 'document_response_malformed']
  ] as readonly [string, Respond, string][])('is refused: %s', async (_what, respond, reason) => {
    expect(await fetchFrom(respond)).toMatchObject({ kind: 'failed', refusal: { reason } })
    await until(async () => server.openConnections() === 0)
  })

  test('a document of 5,120 bytes is accepted', async () => {
    expect((await fetchFrom(send(200, JSON_TYPE, ' '.repeat(5_120)))).kind).toBe('fetched')
  })

  test('a Content-Length that is too long for the body: no document', async () => {
    const respond: Respond = (response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': '100' }).write('{}', () => response.socket?.destroy())
    }
    expect(await fetchFrom(respond)).toMatchObject({ refusal: { reason: 'document_connection_failed' } })
  })

  test('a Content-Length that is shorter than the body: no document', async () => {
    const respond: Respond = (response) => {
      response.socket?.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}{"more":1}')
    }
    expect(await fetchFrom(respond)).toMatchObject({ refusal: { reason: 'document_connection_failed' } })
  })

  test('a Content-Length above the limit: the body is not read', async () => {
    const respond: Respond = (response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': '100000' }).flushHeaders()
    }
    expect(await fetchFrom(respond)).toMatchObject({ refusal: { reason: 'document_too_large' } })
  })

  test('a body without an end stops at the limit of size', async () => {
    const respond: Respond = (response) => {
      response.writeHead(200, JSON_TYPE)
      const more = () => response.destroyed || response.write(' '.repeat(1_000), more)
      more()
    }
    expect(await fetchFrom(respond)).toMatchObject({ refusal: { reason: 'document_too_large' } })
  })

  test('a connection that sends 64 KiB before a response is closed', async () => {
    const respond: Respond = (response) => {
      const more = () =>
        response.socket?.destroyed || response.socket?.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(99), more)
      more()
    }
    expect((await fetchFrom(respond)).kind).toBe('failed')
    await until(async () => server.openConnections() === 0)
  })

  test('a slow trickle ends with the limit of time', async () => {
    const limit = new AbortController()
    const respond: Respond = (response) => {
      response.writeHead(200, JSON_TYPE).write('{', () => limit.abort())
    }
    expect(await fetchFrom(respond, { signal: limit.signal })).toMatchObject({
      refusal: { reason: 'document_timeout' }
    })
    await until(async () => server.openConnections() === 0)
  })

  test('a server that never responds: the fetch ends at the time limit', async () => {
    const limit = new AbortController()
    const silent = createServer(() => limit.abort())
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const fetched = fetchDocument(`https://localhost:${port}/client`, { ...deps(), signal: limit.signal })
    expect(await fetched).toMatchObject({ refusal: { reason: 'document_timeout' } })
    silent.close()
  })

  test('a name that does not resolve in time ends with the limit of time', async () => {
    const limit = new AbortController()
    const resolve = () => {
      limit.abort()
      return new Promise<never>(() => {})
    }
    expect(await fetchFrom(sendJson({}), { resolve, signal: limit.signal })).toMatchObject({
      refusal: { reason: 'document_timeout' }
    })
  })

  test('a certificate of another name or authority is refused', async () => {
    const other = fetchDocument(server.urlOf('/x', 'other.example'), deps())
    expect(await other).toMatchObject({ refusal: { reason: 'document_connection_failed' } })
    expect(await fetchFrom(sendJson({}), { ca: undefined })).toMatchObject({
      refusal: { reason: 'document_connection_failed' }
    })
  })
})

describe('the address of a fetch is checked after resolution (draft-ietf-oauth-client-id-metadata-document-02 §8.6)', () => {
  const answers =
    (...addresses: string[]) =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }) as const)

  test.each([
    ['loopback', ['127.0.0.1']],
    ['IPv6 loopback', ['::1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['link-local, with cloud metadata', ['169.254.169.254']],
    ['private', ['10.0.0.1']],
    ['NAT64 of loopback', ['64:ff9b::7f00:1']],
    ['a public and an internal address', ['8.8.8.8', '127.0.0.1']],
    ['no address', []]
  ])('%s: refused, and no connection is opened', async (_what, addresses) => {
    const before = server.connections()
    const resolve = answers(...addresses)
    expect(await fetchFrom(sendJson({}), { resolve, allowsLoopback: false })).toEqual({
      kind: 'failed',
      refusal: { reason: 'document_address_refused', detail: '' }
    })
    expect(server.connections()).toBe(before)
  })

  test('with loopback allowed, other internal addresses are refused', async () => {
    expect(await fetchFrom(sendJson({}), { resolve: answers('10.0.0.1') })).toMatchObject({
      refusal: { reason: 'document_address_refused' }
    })
  })

  test('a name is resolved once: a later DNS response cannot change the address of the connection', async () => {
    const asked: string[] = []
    const resolve = async (hostname: string) => {
      asked.push(hostname)
      return asked.length === 1 ? LOOPBACK : [{ address: '10.0.0.1', family: 4 } as const]
    }
    expect((await fetchFrom(sendJson({}), { resolve })).kind).toBe('fetched')
    expect(asked).toEqual([APP_HOST])
  })

  test('a name that does not resolve is refused', async () => {
    const resolve = () => Promise.reject(new Error('ENOTFOUND'))
    expect(await fetchFrom(sendJson({}), { resolve })).toMatchObject({ refusal: { reason: 'document_unresolved' } })
  })
})
