import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import {
  COOKIES,
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { kindOf, redisKeysOf } from '../../support/codes.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { listenOnFreePort, rawRequest, sendRaw } from '../../support/raw-connection.js'
import { expectRefusal, UUID } from '../../support/refusals.js'

let server: TestServer
let client: Credentials
let browser: Browser

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  browser = server.newBrowser()
})
afterAll(() => server.close())

describe('token endpoint', () => {
  const FORM = 'application/x-www-form-urlencoded'
  let port: number
  let code: string
  /** A request that is right in everything. */
  let right: InjectOptions & { headers: Record<string, string>; payload: string }

  beforeAll(async () => {
    port = await listenOnFreePort(server.publicServer)
  })
  beforeEach(async () => {
    code = await obtainCode(server, client, { browser })
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...bodyCredentials(client) }
    const payload = new URLSearchParams(form).toString()
    right = { method: 'POST', url: '/token', headers: { 'content-type': FORM }, payload }
  })

  const send = (change: InjectOptions = {}): Promise<LightMyRequestResponse> =>
    server.publicServer.inject({ ...right, ...change })

  /** Checks that the code is still usable. */
  async function expectCodeUnused(): Promise<void> {
    expect(kindOf(await exchange(server, client, code))).toBe('200')
  }

  describe('methods (RFC 6749 §3.2)', () => {
    test.each(['GET', 'PUT', 'DELETE', 'PATCH'] as const)(
      '%s with a right form is 405 with Allow, and does not use the code up',
      async (method) => {
        const answer = await send({ method })
        expectRefusal(answer, 405, 'invalid_request', 'The method must be POST.')
        expect(answer.headers.allow).toBe('POST')
        expect(answer.headers).not.toHaveProperty('www-authenticate')
        await expectCodeUnused()
      }
    )

    test('GET with a valid query is 405, and the code stays usable', async () => {
      const { headers: _, payload, ...rest } = right
      const answer = await server.publicServer.inject({ ...rest, method: 'GET', url: `/token?${payload}` })
      expectRefusal(answer, 405, 'invalid_request')
      await expectCodeUnused()
    })

    test('HEAD is 405 with Allow and without a body', async () => {
      const answer = await send({ method: 'HEAD' })
      expect([answer.statusCode, answer.headers.allow, answer.body]).toEqual([405, 'POST', ''])
      await expectCodeUnused()
    })

    test('OPTIONS is a preflight: 204 without a body, and the code is not read', async () => {
      const answer = await send({ method: 'OPTIONS' })
      expect([answer.statusCode, answer.body, answer.headers['access-control-allow-methods']]).toEqual([
        204,
        '',
        'POST'
      ])
      await expectCodeUnused()
    })
  })

  describe('media types (RFC 6749 §3.2)', () => {
    test.each([
      FORM,
      FORM.toUpperCase(),
      'Application/X-WWW-Form-UrlEncoded',
      `${FORM};charset=UTF-8`,
      `${FORM}; charset=utf-8`,
      `${FORM}; charset="utf-8"`,
      `${FORM} ; CHARSET="UTF-8"`,
      `${FORM};`
    ])('%s is accepted', async (type) => {
      expect(kindOf(await send({ headers: { 'content-type': type } }))).toBe('200')
    })

    test.each([
      'application/json',
      'application/json; charset=utf-8',
      'multipart/form-data; boundary=x',
      'text/plain',
      'text/html',
      'application/xml',
      'application/octet-stream',
      'application/x-www-form-urlencodedx',
      'application/x-www-form-urlencoded, text/plain',
      'application/*',
      '*/*',
      'nonsense',
      ';'
    ])('%s with a valid form is invalid_request, and the code stays usable', async (type) => {
      expectRefusal(await send({ headers: { 'content-type': type } }), 400, 'invalid_request')
      await expectCodeUnused()
    })

    test('a body without a media type is invalid_request, and the code stays usable', async () => {
      expectRefusal(await send({ headers: {} }), 400, 'invalid_request')
      await expectCodeUnused()
    })

    test('JSON with the right members is invalid_request, and the code stays usable', async () => {
      const payload = JSON.stringify(Object.fromEntries(new URLSearchParams(right.payload)))
      const answer = await send({ headers: { 'content-type': 'application/json', ...basic(client) }, payload })
      expectRefusal(answer, 400, 'invalid_request')
      await expectCodeUnused()
    })
  })

  describe('bodies', () => {
    test('an empty body: no credentials, or with Basic a missing grant_type', async () => {
      expectRefusal(await send({ payload: '' }), 401, 'invalid_client')
      const answer = await send({ payload: '', headers: { 'content-type': FORM, ...basic(client) } })
      expectRefusal(answer, 400, 'invalid_request', 'The parameter grant_type is missing.')
    })

    test('no body and no media type with Basic is a missing grant_type', async () => {
      const answer = await server.publicServer.inject({ method: 'POST', url: '/token', headers: basic(client) })
      expectRefusal(answer, 400, 'invalid_request', 'The parameter grant_type is missing.')
    })

    const padded = (length: number) => `${right.payload}&p=${'x'.repeat(length - right.payload.length - 3)}`

    test('16 KiB are accepted; one more byte is 413, and the code stays usable', async () => {
      const answer = await send({ payload: padded(16 * 1024 + 1) })
      expectRefusal(answer, 413, 'invalid_request')
      expect(kindOf(await send({ payload: padded(16 * 1024) }))).toBe('200')
    })

    const inChunks = (...chunks: string[]) =>
      rawRequest(
        'POST /token',
        [`Content-Type: ${FORM}`, 'Transfer-Encoding: chunked', 'Connection: close'],
        [...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
      )

    test('a chunked body is accepted, with any chunk sizes', async () => {
      const { answers } = await sendRaw(port, inChunks(...(right.payload.match(/.{1,7}/g) ?? [])))
      expect(answers.map(({ status }) => status)).toEqual([200])
    })

    test('chunks over 16 KiB are 413, and the code stays usable', async () => {
      const { answers } = await sendRaw(port, inChunks(right.payload, `&p=${'x'.repeat(8_000)}`, 'x'.repeat(9_000)))
      expect(answers.map(({ status }) => status)).toEqual([413])
      expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ error: 'invalid_request' })
      await expectCodeUnused()
    })
  })

  describe('responses', () => {
    test.each([
      '*/*',
      'application/json',
      'text/html',
      'application/xml',
      'image/png',
      'application/json;q=0',
      '',
      ';'
    ])('Accept: "%s" changes nothing: JSON on success and on error', async (accept) => {
      const headers = { 'content-type': FORM, accept }
      const success = await send({ headers })
      expect([kindOf(success), success.headers['content-type']]).toEqual(['200', 'application/json; charset=utf-8'])
      expectRefusal(await send({ headers }), 400, 'invalid_grant')
      expectRefusal(await send({ headers, payload: '' }), 401, 'invalid_client')
      expectRefusal(await send({ headers, method: 'PUT' }), 405, 'invalid_request')
    })

    test('a success has the headers of the contract (RFC 6749 §5.1), no challenge and no cookie', async () => {
      const answer = await send({ headers: { 'content-type': FORM, cookie: `${COOKIES.session}=x` } })
      expect(answer.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        pragma: 'no-cache',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(UUID),
        'access-control-allow-origin': '*'
      })
      for (const name of ['www-authenticate', 'set-cookie', 'retry-after', 'etag', 'location', 'allow', 'server'])
        expect(answer.headers).not.toHaveProperty(name)
    })

    test.each<{ name: string; status: number; change(): InjectOptions }>([
      { name: 'a malformed request', status: 400, change: () => ({ payload: `${right.payload}&code=x` }) },
      { name: 'a bad client', status: 401, change: () => ({ payload: '' }) },
      { name: 'a wrong media type', status: 400, change: () => ({ headers: { 'content-type': 'text/plain' } }) },
      { name: 'a large body', status: 413, change: () => ({ payload: 'x'.repeat(17_000) }) }
    ])('the response to $name is not cacheable and has no challenge', async ({ status, change }) => {
      const answer = await send(change())
      expect(answer.statusCode).toBe(status)
      expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' })
      expect(answer.headers).not.toHaveProperty('www-authenticate')
    })

    test('each response has a generated request id, not that of the caller', async () => {
      const headers = { 'content-type': FORM, 'x-request-id': 'from-the-caller' }
      const ids = new Set(
        [await send({ headers }), await send({ headers })].map((each) => each.headers['x-request-id'])
      )
      expect(ids.size).toBe(2)
      expect(ids).not.toContain('from-the-caller')
    })
  })

  test('requests that are refused before the code is read do not change Redis', async () => {
    const before = await redisKeysOf(server, code)
    await send({ headers: { 'content-type': 'application/json' } })
    expect(await redisKeysOf(server, code)).toEqual(before)
    expect(before).toHaveLength(1)
  })
})

describe('parameters', () => {
  let code: string
  beforeEach(async () => {
    code = await obtainCode(server, client, { browser })
  })

  const rightForm = () =>
    new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      ...bodyCredentials(client)
    }).toString()

  /** A right form with one parameter in other words, or without it. */
  const formWith = (name: string, encoded: string | undefined) => {
    const others = rightForm()
      .split('&')
      .filter((pair) => !pair.startsWith(`${name}=`))
    return [...others, ...(encoded === undefined ? [] : [encoded])].join('&')
  }

  function sendTo(
    url: string,
    payload: string | Buffer,
    headers: Record<string, string> = {}
  ): Promise<LightMyRequestResponse> {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    return server.publicServer.inject({ method: 'POST', url, headers: { ...type, ...headers }, payload })
  }

  const send = (payload: string | Buffer, headers?: Record<string, string>) => sendTo('/token', payload, headers)

  async function expectCodeUnused(): Promise<void> {
    expect(kindOf(await exchange(server, client, code))).toBe('200')
  }

  /** One of the request, and those of the credentials. The rules have a table of all. */
  const NAMES = ['code', 'client_id', 'client_secret']

  describe('a repeated parameter is invalid_request, and the code stays usable (RFC 6749 §3.2)', () => {
    test.each(NAMES)('%s, twice the same value', async (name) => {
      const again = rightForm()
        .split('&')
        .find((each) => each.startsWith(`${name}=`))
      expectRefusal(await send(`${rightForm()}&${again}`), 400, 'invalid_request')
      await expectCodeUnused()
    })

    test.each(['code', 'client_id'])('%s, two values, one of them under an encoded name', async (name) => {
      const encodedName = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`
      expectRefusal(await send(`${formWith(name, undefined)}&${name}=a&${encodedName}=b`), 400, 'invalid_request')
      await expectCodeUnused()
    })

    test('also with an invalid client and other faults', async () => {
      expectRefusal(await send('code=a&code=b&client_id=unknown&client_secret=x'), 400, 'invalid_request')
    })

    test('also client_id together with Basic', async () => {
      const form = `${formWith('client_secret', undefined)}&client_id=${client.clientId}`
      expectRefusal(await send(form, basic(client)), 400, 'invalid_request')
      await expectCodeUnused()
    })
  })

  describe('an empty parameter counts as absent (RFC 6749 §3.2)', () => {
    test.each(['grant_type', 'code', 'redirect_uri'])('%s, empty or absent, is missing', async (name) => {
      for (const encoded of [undefined, `${name}=`, name]) {
        const answer = await send(formWith(name, encoded))
        expectRefusal(answer, 400, 'invalid_request', `The parameter ${name} is missing.`)
      }
      await expectCodeUnused()
    })

    test.each(['client_id', 'client_secret'])('%s, empty or absent, is invalid_client', async (name) => {
      for (const encoded of [undefined, `${name}=`, name])
        expectRefusal(await send(formWith(name, encoded)), 401, 'invalid_client')
      await expectCodeUnused()
    })

    test.each(['resource=', 'code=', '&&'])('so %s beside a right form is no harm', async (extra) => {
      expect(kindOf(await send(`${rightForm()}&${extra}`))).toBe('200')
    })
  })

  describe('a malformed parameter is invalid_request, and the code stays usable', () => {
    const VALUES = ['a%00b', '%ff', '%zz']

    test.each(NAMES)('%s: a control character, bytes that are not UTF-8, an invalid encoding', async (name) => {
      for (const value of VALUES) {
        const answer = await send(formWith(name, `${name}=${value}`))
        expect([value, kindOf(answer)]).toEqual([value, '400 invalid_request'])
        expectRefusal(answer, 400, 'invalid_request')
      }
      await expectCodeUnused()
    })

    test('unencoded bytes that are not UTF-8 are not a code', async () => {
      const answer = await send(Buffer.from(formWith('code', 'code=\xff\xfe'), 'latin1'))
      expect(answer.statusCode).toBe(400)
      await expectCodeUnused()
    })
  })

  describe('parameter names', () => {
    test.each(['code[]', 'Code'])('%s is not code', async (name) => {
      const answer = await send(formWith('code', `${name}=${code}`))
      expectRefusal(answer, 400, 'invalid_request', 'The parameter code is missing.')
      await expectCodeUnused()
    })

    test.each(['foo=a&foo=b', 'foo=%zz', 'code[]=x', '__proto__=x', 'scope=files.read%3Amedia'])(
      '%s in a valid form is ignored (RFC 6749 §3.2)',
      async (extra) => {
        const answer = await send(`${rightForm()}&${extra}`)
        expect([kindOf(answer), JSON.parse(answer.body).scope]).toEqual(['200', 'files.read'])
      }
    )
  })

  describe('grant types (contract 2)', () => {
    test.each(['password', 'Authorization_Code'])(
      '"%s" is unsupported_grant_type, and the code stays usable',
      async (grantType) => {
        const answer = await send(formWith('grant_type', `grant_type=${encodeURIComponent(grantType)}`))
        expectRefusal(answer, 400, 'unsupported_grant_type')
        await expectCodeUnused()
      }
    )
  })

  describe('the query is ignored (RFC 6749 §2.3.1)', () => {
    test('credentials in the query are no credentials', async () => {
      const query = new URLSearchParams(bodyCredentials(client))
      const form = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: REDIRECT_URI
      }).toString()
      const answer = await sendTo(`/token?${query}`, form)
      expectRefusal(answer, 401, 'invalid_client')
      await expectCodeUnused()
    })

    test.each(['grant_type', 'code', 'redirect_uri'])('%s in the query is missing', async (name) => {
      const answer = await sendTo(`/token?${rightForm()}`, formWith(name, undefined))
      expectRefusal(answer, 400, 'invalid_request', `The parameter ${name} is missing.`)
      await expectCodeUnused()
    })

    test('parameters in the query of a valid form neither count nor are repeated', async () => {
      expect(kindOf(await sendTo('/token?code=other&client_id=unknown&grant_type=password', rightForm()))).toBe('200')
    })
  })
})
