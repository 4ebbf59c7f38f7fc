import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type FastifyInstance, fastify } from 'fastify'
import { bearerPlugin } from '../../src/fastify/index.js'
import { json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { challengesOf, sendRaw } from '../raw-request.js'
import { until } from '../until.js'

const RESOURCE = 'https://files.example/api'
const FORM = 'Content-Type: application/x-www-form-urlencoded'
const GOOD = 'Authorization: Bearer abc'
const LIMIT = 200

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let app: FastifyInstance
let port: number
let served: string[]
/** Reasons of refusals, and the status of errors that reached the API's own handler. */
let refusals: string[]

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  app = fastify({ bodyLimit: LIMIT })
  await app.register(bearerPlugin, {
    issuer: 'https://auth.example',
    resource: RESOURCE,
    scopesSupported: ['files.read'],
    tokenFormat: 'any',
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' },
    onRefusal: (reason) => refusals.push(reason)
  })
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    refusals.push(String(error.statusCode))
    return reply.code(error.statusCode ?? 500).send({})
  })
  const onRequest = app.requireAccessToken('files.read')
  app.get('/files', { onRequest }, async (request) => {
    served.push(request.method)
    return 'in'
  })
  app.get('/open', async () => 'open')
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
beforeEach(() => {
  served = []
  refusals = []
  endpoint.answers(json({ active: true, aud: RESOURCE, scope: 'files.read' }))
})
afterAll(async () => {
  await app?.close()
  await endpoint?.close()
})

const request = (method: string, lines: readonly string[], body: string, target = '/files') =>
  [`${method} ${target} HTTP/1.1`, 'Host: files.example', ...lines, '', body].join('\r\n')
const withForm = (body: string, type = FORM) => [GOOD, type, `Content-Length: ${body.length}`]
const chunks = (...parts: string[]) =>
  `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`

describe('a second token in the form of a GET is an invalid_request (RFC 6750 §2.2, §3.1)', () => {
  const body = 'a=b&access_token=abc'

  test.each([
    { name: 'GET', bytes: request('GET', withForm(body), body) },
    {
      name: 'a media type in upper case, with a charset',
      bytes: request('GET', withForm(body, `${FORM.toUpperCase()}; charset=utf-8`), body)
    },
    { name: 'a space before the semicolon', bytes: request('GET', withForm(body, `${FORM} ; charset=utf-8`), body) },
    {
      name: 'a token other than the one in the header',
      bytes: request('GET', withForm('access_token=x'), 'access_token=x')
    },
    { name: 'a percent-encoded name', bytes: request('GET', withForm('%61ccess_token=x'), '%61ccess_token=x') },
    {
      name: 'a chunked body',
      bytes: request('GET', [GOOD, FORM, 'Transfer-Encoding: chunked'], chunks('access_', 'token=abc'))
    },
    {
      name: 'Expect: 100-continue',
      bytes: request('GET', [...withForm(body), 'Expect: 100-continue'], body),
      before: 100
    }
  ])('$name', async ({ bytes, before }) => {
    const answer = before === undefined ? await sendRaw(port, bytes) : await finalResponse(bytes)
    expect(answer.status).toBe(400)
    const [challenge] = await challengesOf(answer)
    expect(challenge?.parameters).toMatchObject({ error: 'invalid_request' })
    expect([served, refusals]).toEqual([[], ['token_in_body']])
  })

  test('HEAD', async () => {
    expect(await statusOf(request('HEAD', withForm(body), body))).toBe(400)
    expect([served, refusals]).toEqual([[], ['token_in_body']])
  })
})

describe('a request without a second token is served', () => {
  test.each([
    { name: 'a form without a token', lines: withForm('a=b'), body: 'a=b' },
    { name: 'a form whose token is empty', lines: withForm('access_token='), body: 'access_token=' },
    { name: 'an empty form', lines: withForm(''), body: '' },
    { name: 'the media type of a form, without a body', lines: [GOOD, FORM], body: '' },
    { name: 'a form as long as bodyLimit', lines: withForm('a'.repeat(LIMIT)), body: 'a'.repeat(LIMIT) },
    {
      name: 'access_token in JSON',
      lines: withForm('{"access_token":"x"}', 'Content-Type: application/json'),
      body: '{"access_token":"x"}'
    },
    { name: 'a body without a media type', lines: [GOOD, 'Content-Length: 14'], body: 'access_token=x' },
    {
      name: 'a long body of another type',
      lines: withForm('a'.repeat(500), 'Content-Type: text/plain'),
      body: 'a'.repeat(500)
    }
  ])('$name', async ({ lines, body }) => {
    expect(await statusOf(request('GET', lines, body))).toBe(200)
    expect(await statusOf(request('HEAD', lines, body))).toBe(200)
    expect([served, refusals]).toEqual([['GET', 'HEAD'], []])
  })

  test('two requests on one connection: the body of the first is not read as the second', async () => {
    const two = request('GET', withForm('a=b'), 'a=b') + request('GET', [GOOD, 'Connection: close'], '')
    const answers = await readAll(two)
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  })

  test('a route without a guard does not read the body', async () => {
    expect(await statusOf(request('GET', [FORM, 'Content-Length: 100'], 'access_token=x', '/open'))).toBe(200)
  })
})

describe('a body larger than bodyLimit is refused', () => {
  test.each([
    {
      name: 'a Content-Length above the limit, with a short body',
      lines: [GOOD, FORM, 'Content-Length: 1000000000'],
      body: 'a=b'
    },
    { name: 'a form above the limit', lines: withForm('a'.repeat(LIMIT + 1)), body: 'a'.repeat(LIMIT + 1) },
    {
      name: 'a chunked body without an end',
      lines: [GOOD, FORM, 'Transfer-Encoding: chunked'],
      body: `${(500).toString(16)}\r\n${'a'.repeat(500)}\r\n`
    }
  ])('$name: 413, and the connection ends', async ({ lines, body }) => {
    const answer = await readAll(request('GET', lines, body))
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*\r\nconnection: close\r\n/is)
    expect([served, refusals]).toEqual([[], ['413']])
  })

  test('a connection that ends within the form: not served, and the server still works', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(request('GET', [GOOD, FORM, 'Content-Length: 100'], 'a=b'))
    await until(() => endpoint.calls.length > 0)
    socket.destroy()
    await until(() => refusals.length > 0)
    expect([served, refusals]).toEqual([[], ['400']])
    expect(await statusOf(request('GET', [GOOD], ''))).toBe(200)
  })

  test('a refused request gets its response before its body arrives', async () => {
    const lines = [FORM, 'Content-Length: 100']
    expect(await statusOf(request('GET', lines, 'access_token=x'))).toBe(401)
    endpoint.answers(json({ active: false }))
    expect(await statusOf(request('GET', [...lines, GOOD], 'access_token=x'))).toBe(401)
  })
})

/** A response to HEAD has a Content-Length without a body, so only the end of the connection shows its end. */
const withConnectionClose = (bytes: string) => bytes.replace('\r\n', '\r\nConnection: close\r\n')

async function statusOf(bytes: string): Promise<number> {
  return Number((await readAll(withConnectionClose(bytes))).split(' ')[1])
}

/** All bytes until the connection ends. */
async function readAll(bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (part) => {
    text += part
  })
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

/** The response after `100 Continue`. */
async function finalResponse(bytes: string) {
  const text = await readAll(withConnectionClose(bytes))
  const [, head = '', body = ''] = text.split('\r\n\r\n')
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string])
  return { status: Number(head.split(' ')[1]), headers: new Headers(headers), body }
}
