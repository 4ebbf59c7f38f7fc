import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type FastifyInstance, fastify } from 'fastify'
import { bearerPlugin } from '../../src/fastify/index.js'
import { json, startFakeEndpoint } from '../fake-introspection-endpoint.js'
import { challengesOf, type RawAnswer, sendRaw } from '../raw-request.js'

const RESOURCE = 'https://files.example/api'
const METADATA = 'https://files.example/.well-known/oauth-protected-resource/api'
const FORM = 'application/x-www-form-urlencoded'
const good = 'Authorization: Bearer abc'

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let app: FastifyInstance
let port: number

beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  app = fastify()
  app.addContentTypeParser(`${FORM}-not`, { parseAs: 'string' }, (_request, _body, done) => {
    done(null, { access_token: 'abc' })
  })
  app.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  })
  await app.register(bearerPlugin, {
    issuer: 'https://auth.example',
    resource: RESOURCE,
    realm: 'The "files"',
    scopesSupported: ['files.read'],
    tokenFormat: 'any',
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })
  const onRequest = app.requireAccessToken('files.read')
  app.get('/files', { onRequest }, async () => 'in')
  app.post('/files', { onRequest }, async () => 'in')
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterAll(async () => {
  await app?.close()
  await endpoint?.close()
})

type Request = { method?: string; target?: string; lines?: readonly string[]; body?: string }

/** Every token is active at the authorization server, so that only the parsing decides. */
function send({ method = 'GET', target = '/files', lines = [], body = '' }: Request): Promise<RawAnswer> {
  endpoint.answers(json({ active: true, aud: RESOURCE, scope: 'files.read' }))
  return sendRaw(port, [`${method} ${target} HTTP/1.1`, 'Host: files.example', ...lines, '', body].join('\r\n'))
}

function post(contentType: string, body: string, ...lines: string[]): Request {
  return { method: 'POST', lines: [...lines, `Content-Type: ${contentType}`, `Content-Length: ${body.length}`], body }
}

const described = { realm: 'The "files"', scope: 'files.read', resource_metadata: METADATA }

async function expectRefusal(answer: RawAnswer, status: number, error: string | undefined): Promise<void> {
  expect(answer.status).toBe(status)
  const challenges = await challengesOf(answer)
  expect(challenges).toHaveLength(1)
  const { scheme, parameters } = challenges[0] ?? { scheme: '', parameters: {} }
  const { error_description, ...rest } = parameters
  expect(scheme).toBe('bearer')
  expect(rest).toEqual({ ...described, ...(error && { error }) })
  expect(error_description === undefined).toBe(error === undefined)
}

describe('200: the token is read from (RFC 6750 §2.1, RFC 9110 §5.5, §11.1, §11.4)', () => {
  test.each<{ name: string; line: string; token?: string }>([
    { name: 'white space around the field value, which HTTP removes', line: 'Authorization: \t Bearer abc \t ' },
    { name: 'no space after the colon', line: 'Authorization:Bearer abc' },
    { name: 'every character of b64token', line: 'Authorization: Bearer aZ09-._~+/==', token: 'aZ09-._~+/==' },
    { name: 'a token of 8 KB', line: `Authorization: Bearer ${'a'.repeat(8192)}`, token: 'a'.repeat(8192) }
  ])('$name', async ({ line, token = 'abc' }) => {
    const answer = await send({ lines: [line] })
    expect([answer.status, answer.body]).toEqual([200, 'in'])
    expect(new URLSearchParams(endpoint.calls[0]?.body).get('token')).toBe(token)
  })
})

describe('401 without an error code: no Bearer credentials (RFC 6750 §3.1)', () => {
  test.each([
    { name: 'a header of white space', lines: ['Authorization: \t '] },
    { name: 'a cookie', lines: ['Cookie: access_token=abc; Authorization=Bearer abc'] }
  ])('$name', async ({ lines }) => {
    await expectRefusal(await send({ lines }), 401, undefined)
    expect(endpoint.calls).toHaveLength(0)
  })

  test('HEAD: the same, without a body', async () => {
    const answer = await sendRaw(port, 'HEAD /files HTTP/1.1\r\nHost: files.example\r\nConnection: close\r\n\r\n')
    await expectRefusal(answer, 401, undefined)
    expect(answer.body).toBe('')
  })
})

describe('401 invalid_token: the scheme Bearer without a well-formed token (RFC 6750 §3.1)', () => {
  test.each([
    { name: 'the scheme and a space', line: 'Authorization: Bearer ' },
    { name: 'an equals sign alone', line: 'Authorization: Bearer=' },
    { name: 'a tab after the space', line: 'Authorization: Bearer \tabc' },
    { name: 'two credentials of different schemes', line: 'Authorization: Bearer abc, Basic YTpi' },
    { name: 'a no-break space instead of a space', line: 'Authorization: Bearer\u00a0abc' },
    { name: 'UTF-8', line: `Authorization: Bearer ${Buffer.from('abc→').toString('latin1')}` }
  ])('$name', async ({ line }) => {
    await expectRefusal(await send({ lines: [line] }), 401, 'invalid_token')
    expect(endpoint.calls).toHaveLength(0)
  })
})

describe('400 invalid_request: more than one token, or a token in the query (RFC 6750 §2, §2.3, §3.1)', () => {
  test.each<{ name: string } & Request>([
    { name: 'two headers, one name in upper case', lines: [good, 'AUTHORIZATION: Bearer abc'] },
    { name: 'in the query, every letter encoded', target: '/files?%61%63%63%65%73%73_token=abc' },
    { name: 'in the query of an absolute URL', target: 'http://files.example/files?access_token=abc' },
    { name: 'in the query after a second question mark', target: '/files?a=b?c&access_token=abc' }
  ])('$name', async (request) => {
    await expectRefusal(await send(request), 400, 'invalid_request')
    expect(endpoint.calls).toHaveLength(0)
  })

  test.each([
    { name: 'a form', request: post(FORM, 'access_token=abc', good) },
    { name: 'a form, after others', request: post(FORM, 'a=b&access_token=abc', good) },
    { name: 'a form with a charset', request: post(`${FORM}; charset=UTF-8`, 'access_token=abc', good) },
    { name: 'a form, its type in upper case', request: post(FORM.toUpperCase(), 'access_token=abc', good) },
    {
      name: 'a chunked form',
      request: {
        method: 'POST',
        lines: [good, `Content-Type: ${FORM}`, 'Transfer-Encoding: chunked'],
        body: '10\r\naccess_token=abc\r\n0\r\n\r\n'
      }
    }
  ])('in the header and in $name', async ({ request }) => {
    await expectRefusal(await send(request), 400, 'invalid_request')
  })
})

describe('only the header counts, with', () => {
  test.each<{ name: string } & Request>([
    { name: 'an empty parameter in the query (RFC 6749 §3.1)', target: '/files?access_token=' },
    { name: 'a parameter of a similar name', target: '/files?access_tokens=abc&Access_Token=abc&access_token[]=abc' },
    { name: 'a semicolon in the query', target: '/files?a=b;access_token=abc' },
    { name: 'access_token in JSON', ...post('application/json', '{"access_token":"abc"}') },
    { name: 'a form without a token', ...post(FORM, 'a=access_token') },
    { name: 'a form with an empty token', ...post(FORM, 'access_token=') },
    { name: 'a media type that only begins like that of a form', ...post(`${FORM}-not`, 'access_token=abc') }
  ])('$name', async (request) => {
    expect((await send({ ...request, lines: [good, ...(request.lines ?? [])] })).status).toBe(200)
    if (request.body === undefined) await expectRefusal(await send(request), 401, undefined)
  })

  test('a token in a form without a header: 401, and the form is not read (RFC 6750 §2.2)', async () => {
    await expectRefusal(await send(post(FORM, 'access_token=abc')), 401, undefined)
    const asGet = { ...post(FORM, 'access_token=abc'), method: 'GET' }
    await expectRefusal(await send(asGet), 401, undefined)
    expect(endpoint.calls).toHaveLength(0)
  })

  test('a token in a path parameter: 404', async () => {
    expect((await send({ target: '/files;access_token=abc', lines: [good] })).status).toBe(404)
  })
})

describe('malformed HTTP is refused before the guard', () => {
  test.each([
    { name: 'a header of 64 KB', line: `Authorization: Bearer ${'a'.repeat(65_536)}`, status: 431 },
    { name: 'NUL', line: 'Authorization: Bearer abc\0', status: 400 },
    { name: 'another control character', line: 'Authorization: Bearer abc\x01', status: 400 },
    { name: 'a space before the colon', line: 'Authorization : Bearer abc', status: 400 },
    { name: 'a bare line feed', line: 'Authorization: Bearer abc\nX: y', status: 400 },
    { name: 'a folded line', line: 'Authorization: Bearer\r\n abc', status: 400 }
  ])('$name: $status', async ({ line, status }) => {
    expect((await send({ lines: [line] })).status).toBe(status)
    expect(endpoint.calls).toHaveLength(0)
  })
})

test('a request with a body of 1 GB is refused before its body arrives', async () => {
  const announced = ['Content-Type: application/json', 'Content-Length: 1073741824']
  await expectRefusal(await send({ method: 'POST', lines: announced }), 401, undefined)
  const lines = ['Authorization: Bearer a=b', ...announced]
  await expectRefusal(await send({ method: 'POST', lines }), 401, 'invalid_token')
})
