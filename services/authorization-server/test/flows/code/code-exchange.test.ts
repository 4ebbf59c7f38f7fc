import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AUDIENCE, type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { auditOf, grantOf, kindOf, PKCE, redisKeysOf, remainingLife, VERIFIER } from '../../support/codes.js'
import { exchange, obtainCode, PASSWORD } from '../../support/flow.js'
import { expectRefusal } from '../../support/refusals.js'
import { createPublicClient } from '../../support/tokens.js'

const INVALID_GRANT = 'The code or token is unknown, expired, revoked, or was issued for another request.'
const OTHER_AUDIENCE = 'https://other.example'
const CALLBACK = 'https://app.example/callback?a=b'
const OTHER_CALLBACK = 'https://app.example/other'

let server: TestServer
let client: Credentials
let other: Credentials
let native: Credentials

beforeAll(async () => {
  server = await startTestServer()
  await server.createUser('alice', PASSWORD)
  await server.createResourceServer()
  await server.createResourceServer(OTHER_AUDIENCE)
  client = await server.createClient({ redirectUris: [CALLBACK, OTHER_CALLBACK] })
  other = await server.createClient({ redirectUris: [CALLBACK] })
  native = await server.createClient({ redirectUris: ['http://127.0.0.1/cb', 'http://localhost/cb'] })
})
afterAll(() => server.close())

type Row = {
  name: string
  /** To the authorization request. */
  asked?: Record<string, string>
  /** What the token request needs to be right. */
  right?: Record<string, string>
  /** What is wrong with it. */
  wrong: Record<string, string>
  error?: string
  reason: string
}

/** Checks that the wrong request is refused and ends nothing, and that the right one then gets tokens. */
async function expectRefusedUnused(owner: Credentials, row: Row & { sender?: Credentials }): Promise<void> {
  const { asked = {}, right = {}, wrong, sender = owner, error = 'invalid_grant', reason } = row
  const redirectUri = owner === native ? 'http://127.0.0.1:5000/cb' : CALLBACK
  const code = await obtainCode(server, owner, { change: { redirect_uri: redirectUri, ...asked } })
  const form = { redirect_uri: redirectUri, ...right }
  const before = await remainingLife(server, code)
  const answer = await exchange(server, sender, code, { ...form, ...wrong })
  expectRefusal(answer, 400, error, error === 'invalid_grant' ? INVALID_GRANT : undefined)
  expect(answer.headers).not.toHaveProperty('www-authenticate')
  expect(await auditOf(server, answer)).toEqual([{ event: 'request_refused', reason }])
  expect(await remainingLife(server, code)).toBeLessThanOrEqual(before)
  expect(await grantOf(server, code)).toBeUndefined()
  expect(kindOf(await exchange(server, owner, code, form))).toBe('200')
}

describe('exchange: client (RFC 6749 §4.1.3)', () => {
  test('another client with the same redirect URI: invalid_grant, and the code stays usable', async () => {
    await expectRefusedUnused(client, { name: '', sender: other, wrong: {}, reason: 'wrong_client' })
  })

  test('another client with the code verifier: invalid_grant', async () => {
    const row = { name: '', asked: PKCE, right: { code_verifier: VERIFIER }, wrong: {}, reason: 'wrong_client' }
    await expectRefusedUnused(client, { ...row, sender: other })
  })
})

describe('exchange: redirect URI, compared byte for byte; the code stays usable (RFC 6749 §4.1.3)', () => {
  test('missing: invalid_request', async () => {
    const row = { name: '', wrong: { redirect_uri: '' }, error: 'invalid_request', reason: 'invalid_request' }
    await expectRefusedUnused(client, row)
  })

  test.each([
    OTHER_CALLBACK,
    'https://app.example/callback',
    'https://app.example/callback?a=b&c=d',
    'https://app.example/callback?a=B',
    'https://app.example/callback/?a=b',
    'https://app.example/Callback?a=b',
    'https://APP.example/callback?a=b',
    'https://app.example:443/callback?a=b',
    'http://app.example/callback?a=b',
    'https://app.example/%63allback?a=b',
    'https://app.example/x/../callback?a=b',
    'https://app.example/callback?a=b#',
    ' https://app.example/callback?a=b',
    'https://app.example/callback?a=b ',
    'https%3A%2F%2Fapp.example%2Fcallback%3Fa%3Db'
  ])('%s', async (uri) => {
    await expectRefusedUnused(client, { name: uri, wrong: { redirect_uri: uri }, reason: 'wrong_redirect_uri' })
  })

  test.each([
    'http://127.0.0.1:5001/cb',
    'http://127.0.0.1/cb',
    'http://localhost:5000/cb',
    'http://127.0.0.1:05000/cb',
    'http://127.0.0.1:5000/cb/'
  ])('another port or spelling of a loopback redirect URI: %s', async (uri) => {
    await expectRefusedUnused(native, { name: uri, wrong: { redirect_uri: uri }, reason: 'wrong_redirect_uri' })
  })
})

describe('exchange: code verifier; the code stays usable (RFC 7636 §4.6, RFC 9700 §4.8)', () => {
  const right = { code_verifier: VERIFIER }
  const given = { asked: PKCE, right }
  test.each<Row>([
    { name: 'missing', ...given, wrong: { code_verifier: '' }, reason: 'wrong_code_challenge' },
    { name: 'another verifier', ...given, wrong: { code_verifier: 'w'.repeat(43) }, reason: 'wrong_code_challenge' },
    {
      name: 'in upper case',
      ...given,
      wrong: { code_verifier: VERIFIER.toUpperCase() },
      reason: 'wrong_code_challenge'
    },
    {
      name: 'with one more character',
      ...given,
      wrong: { code_verifier: `${VERIFIER}k` },
      reason: 'wrong_code_challenge'
    },
    {
      name: 'the challenge itself',
      ...given,
      wrong: { code_verifier: PKCE.code_challenge },
      reason: 'wrong_code_challenge'
    },
    { name: '42 characters', ...given, wrong: { code_verifier: VERIFIER.slice(1) }, reason: 'malformed_verifier' },
    { name: '129 characters', ...given, wrong: { code_verifier: 'v'.repeat(129) }, reason: 'malformed_verifier' },
    {
      name: 'with a plus sign',
      ...given,
      wrong: { code_verifier: `${'v'.repeat(43)}+` },
      reason: 'malformed_verifier'
    },
    { name: 'with a trailing space', ...given, wrong: { code_verifier: `${VERIFIER} ` }, reason: 'malformed_verifier' },
    { name: 'without a challenge in the request', wrong: right, reason: 'wrong_code_challenge' },
    { name: 'malformed and without a challenge', wrong: { code_verifier: 'x' }, reason: 'malformed_verifier' }
  ])('$name', async (row) => {
    await expectRefusedUnused(client, row)
  })

  test('a public client needs both challenge and verifier', async () => {
    const app = await createPublicClient(server)
    const code = await obtainCode(server, app, { change: PKCE })
    expectRefusal(await exchange(server, app, code), 400, 'invalid_grant', INVALID_GRANT)
    expect(kindOf(await exchange(server, app, code, { code_verifier: VERIFIER }))).toBe('200')
  })
})

describe('exchange: resource; the code stays usable (RFC 8707 §2.2)', () => {
  const ofOther = { asked: { resource: OTHER_AUDIENCE } }
  test.each<Row>([
    {
      name: 'another registered resource',
      wrong: { resource: OTHER_AUDIENCE },
      error: 'invalid_target',
      reason: 'invalid_target'
    },
    {
      name: 'an unknown resource',
      wrong: { resource: 'https://x.example' },
      error: 'invalid_target',
      reason: 'invalid_target'
    },
    {
      name: 'with a trailing slash',
      wrong: { resource: `${AUDIENCE}/` },
      error: 'invalid_target',
      reason: 'invalid_target'
    },
    {
      name: 'the default for a code with another resource',
      ...ofOther,
      wrong: { resource: AUDIENCE },
      error: 'invalid_target',
      reason: 'invalid_target'
    }
  ])('$name', async (row) => {
    await expectRefusedUnused(client, row)
  })

  test.each([
    { name: 'the default resource, named or not', asked: {}, forms: [{}, { resource: AUDIENCE }] },
    {
      name: 'another resource, named or not',
      asked: { resource: OTHER_AUDIENCE },
      forms: [{}, { resource: OTHER_AUDIENCE }]
    }
  ])('$name: 200', async ({ asked, forms }) => {
    for (const form of forms) {
      const code = await obtainCode(server, client, { change: { redirect_uri: CALLBACK, ...asked } })
      expect(kindOf(await exchange(server, client, code, { redirect_uri: CALLBACK, ...form }))).toBe('200')
    }
  })
})

describe('exchange with several errors', () => {
  test('client errors come before redirect URI, then code verifier, then resource', async () => {
    const form = { redirect_uri: OTHER_CALLBACK, code_verifier: 'w'.repeat(43), resource: OTHER_AUDIENCE }
    const code = await obtainCode(server, client, { change: { redirect_uri: CALLBACK, ...PKCE } })
    const answers = [
      await exchange(server, other, code, form),
      await exchange(server, client, code, form),
      await exchange(server, client, code, { ...form, redirect_uri: CALLBACK }),
      await exchange(server, client, code, { ...form, redirect_uri: CALLBACK, code_verifier: VERIFIER })
    ]
    const reasons = await Promise.all(answers.map(async (answer) => (await auditOf(server, answer))[0]?.reason))
    expect(reasons).toEqual(['wrong_client', 'wrong_redirect_uri', 'wrong_code_challenge', 'invalid_target'])
    expect(answers.map(kindOf)).toEqual([...Array(3).fill('400 invalid_grant'), '400 invalid_target'])
  })

  test('50 concurrent invalid exchanges leave the code usable', async () => {
    const code = await obtainCode(server, client, { change: { redirect_uri: CALLBACK } })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        exchange(server, index % 2 ? other : client, code, { redirect_uri: index % 2 ? CALLBACK : OTHER_CALLBACK })
      )
    )
    expect(new Set(answers.map(kindOf))).toEqual(new Set(['400 invalid_grant']))
    expect(kindOf(await exchange(server, client, code, { redirect_uri: CALLBACK }))).toBe('200')
    expect(await redisKeysOf(server, code)).toHaveLength(1)
  })
})
