import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { type Credentials, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { kindOf } from '../../support/codes.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { expectRefusal } from '../../support/refusals.js'

let server: TestServer
let client: Credentials
let code: string

beforeAll(async () => {
  server = await startTestServer({ LIMITS_FACTOR: '100' })
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
})
beforeEach(async () => {
  code = await obtainCode(server, client)
})
afterAll(() => server.close())

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

const EVERY = [
  'grant_type',
  'code',
  'redirect_uri',
  'code_verifier',
  'client_id',
  'client_secret',
  'refresh_token',
  'scope',
  'resource'
]

describe('a repeated parameter is invalid_request, and the code stays usable (RFC 6749 §3.2)', () => {
  test.each(EVERY)('%s, twice the same value', async (name) => {
    const pair = rightForm()
      .split('&')
      .find((each) => each.startsWith(`${name}=`))
    const again = pair ?? `${name}=x&${name}=x`
    expectRefusal(await send(`${rightForm()}&${again}`), 400, 'invalid_request')
    await expectCodeUnused()
  })

  test.each(EVERY)('%s, two values, one of them under an encoded name', async (name) => {
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

  test.each(['code_verifier=', 'resource=', 'scope=', 'refresh_token=', 'code=', 'grant_type', '&&', '='])(
    'so %s beside a right form is no harm',
    async (extra) => {
      expect(kindOf(await send(`${rightForm()}&${extra}`))).toBe('200')
    }
  )
})

describe('a malformed parameter is invalid_request, and the code stays usable', () => {
  const VALUES = ['a%00b', '%00', 'a%0Ab', '%7F', '%C2%85', '%ff', '%C0%AF', '%ED%A0%80', '%zz', '%', '%4', 'a\0b']

  test.each(EVERY)('%s: a control character, bytes that are not UTF-8, an invalid encoding', async (name) => {
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
  test.each(['code[]', 'code%5B%5D', 'code[0]', 'code.x', 'Code', 'code%20', ' code', 'code[code]'])(
    '%s is not code',
    async (name) => {
      const answer = await send(formWith('code', `${name}=${code}`))
      expectRefusal(answer, 400, 'invalid_request', 'The parameter code is missing.')
      await expectCodeUnused()
    }
  )

  test.each([
    'foo=bar',
    'foo=a&foo=b',
    'foo=%ff',
    'foo=%zz',
    'foo=%00',
    'code[]=x',
    'code[]=x&code[]=y',
    'client_id[]=x',
    '__proto__=x',
    '__proto__[get]=x',
    'constructor=x',
    'get=x',
    '%ff=x',
    'audience=x',
    'state=x',
    'scope=files.read%3Amedia',
    'client_assertion=x&client_assertion_type=y'
  ])('%s in a valid form is ignored (RFC 6749 §3.2)', async (extra) => {
    const answer = await send(`${rightForm()}&${extra}`)
    expect([kindOf(answer), JSON.parse(answer.body).scope]).toEqual(['200', 'files.read'])
  })
})

describe('grant types (contract 2)', () => {
  test.each([
    'password',
    'client_credentials',
    'implicit',
    'token',
    'code',
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'Authorization_Code',
    'AUTHORIZATION_CODE',
    'authorization_code ',
    ' authorization_code',
    'authorization_code refresh_token',
    'authorization_code,refresh_token',
    '__proto__',
    'ü'
  ])('"%s" is unsupported_grant_type, and the code stays usable', async (grantType) => {
    const answer = await send(formWith('grant_type', `grant_type=${encodeURIComponent(grantType)}`))
    expectRefusal(answer, 400, 'unsupported_grant_type')
    await expectCodeUnused()
  })
})

describe('the query is ignored (RFC 6749 §2.3.1)', () => {
  test('credentials in the query are no credentials', async () => {
    const query = new URLSearchParams(bodyCredentials(client))
    const form = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }).toString()
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
