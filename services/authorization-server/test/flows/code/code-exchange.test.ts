import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Statement } from '@valetkey/service-kit'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import { connectRedis } from '../../../src/storage/redis/redis.js'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { Browser } from '../../support/browser.js'
import {
  auditOf,
  forgetInRedis,
  grantOf,
  kindOf,
  PKCE,
  recordOf,
  redisKeysOf,
  remainingLife,
  unknownCode,
  VERIFIER
} from '../../support/codes.js'
import { authorizeUrl, exchange, introspect, obtainCode, PASSWORD, responseParameters } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { expectRefusal } from '../../support/refusals.js'
import { createPublicClient, pairOf } from '../../support/tokens.js'

const INVALID_GRANT = 'The code or token is unknown, expired, revoked, or was issued for another request.'
const OTHER_AUDIENCE = 'https://other.example'
const CALLBACK = 'https://app.example/callback?a=b'
const OTHER_CALLBACK = 'https://app.example/other'

let server: TestServer
let userId: string
let client: Credentials
let other: Credentials
let native: Credentials

beforeAll(async () => {
  server = await startTestServer({ ACCESS_TOKEN_TTL: '1234' })
  userId = await server.createUser('alice', PASSWORD)
  await server.createResourceServer()
  await server.createResourceServer(OTHER_AUDIENCE)
  await server.createScope('other.read', { audience: OTHER_AUDIENCE })
  const requiredScopes = ['files.read', 'other.read']
  client = await server.createClient({ redirectUris: [CALLBACK, OTHER_CALLBACK], requiredScopes })
  other = await server.createClient({ redirectUris: [CALLBACK] })
  native = await server.createClient({ redirectUris: ['http://127.0.0.1/cb', 'http://localhost/cb'] })
})
afterAll(() => server.close())

type Row = {
  name: string
  /** Parameters added to the authorization request. */
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
  const ofOther = { asked: { resource: OTHER_AUDIENCE, scope: 'other.read' } }
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
      name: 'with a second trailing slash',
      wrong: { resource: `${AUDIENCE}//` },
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
    {
      name: 'the default resource, named or not',
      asked: {},
      forms: [{}, { resource: AUDIENCE }, { resource: `${AUDIENCE}/` }]
    },
    {
      name: 'another resource, named or not',
      asked: { resource: OTHER_AUDIENCE, scope: 'other.read' },
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

describe('codes and responses', () => {
  let client: Credentials
  let resourceServer: Credentials

  beforeAll(async () => {
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })

  const ACCESS_TOKEN = /^vk_at_[0-9A-Za-z]{53}$/
  const REFRESH_TOKEN = /^vk_rt_[0-9A-Za-z]{49}$/

  describe('successful exchange (RFC 6749 §5.1)', () => {
    test.each([
      { name: 'a confidential client', change: {}, refreshes: true },
      { name: 'a confidential client without refresh', change: { issuesRefreshTokens: false }, refreshes: false },
      { name: 'a public client', change: { type: 'public', requiresPkce: true }, refreshes: true },
      {
        name: 'a public client without refresh',
        change: { type: 'public', requiresPkce: true, issuesRefreshTokens: false },
        refreshes: false
      }
    ] as const)('for $name has exactly the members of the contract', async ({ change, refreshes }) => {
      const { clientId, clientSecret } = await server.createClient(change)
      const app = { clientId, clientSecret: 'type' in change ? '' : clientSecret }
      const code = await obtainCode(server, app, { change: PKCE })
      const answer = await exchange(server, app, code, { code_verifier: VERIFIER })
      expect([answer.statusCode, answer.json()]).toEqual([
        200,
        {
          access_token: expect.stringMatching(ACCESS_TOKEN),
          token_type: 'Bearer',
          expires_in: 1234,
          scope: 'files.read',
          ...(refreshes && { refresh_token: expect.stringMatching(REFRESH_TOKEN) })
        }
      ])
      expect(await grantOf(server, code)).toEqual({
        redeemed: true,
        ended: false,
        accessTokens: 1,
        refreshTokens: refreshes ? 1 : 0
      })
      expect((await auditOf(server, answer)).map(({ event }) => event)).toEqual(['code_redeemed'])
    })

    test.each(['files.read', 'files.read:images', 'files.read files.read:images', 'files.read:images files.read'])(
      'scope "%s": the response and the token have the allowed scope',
      async (scope) => {
        const { access_token, scope: answered } = pairOf(
          await exchange(server, client, await obtainCode(server, client, { change: { scope } }))
        )
        expect(answered).toBe(scope)
        expect((await introspect(server, resourceServer, access_token)).json().scope).toBe(scope)
      }
    )

    test('the response and the token omit scopes that the user deselected', async () => {
      const app = await server.createClient({ requiredScopes: ['files.read'], optionalScopes: ['files.read:images'] })
      const browser = server.newBrowser()
      const change = { scope: 'files.read files.read:images' }
      const login = await browser.open(authorizeUrl(app.clientId, change))
      const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
      // A box that is not ticked is not sent; an empty field is no tick either.
      const unticked = { 'scope.files.read:images': '', decision: 'allow' }
      const { code = '' } = responseParameters(await browser.submitOnly(consent, unticked))
      expect(pairOf(await exchange(server, app, code)).scope).toBe('files.read')
    })

    test('the token has the user, client and resource of the code, and starts now', async () => {
      const before = Math.floor(Date.now() / 1000)
      const { access_token } = pairOf(await exchange(server, client, await obtainCode(server, client)))
      const after = Math.ceil(Date.now() / 1000)
      const token = (await introspect(server, resourceServer, access_token)).json()
      expect(token).toMatchObject({ active: true, sub: userId, client_id: client.clientId, aud: AUDIENCE, iss: ISSUER })
      expect(token.exp - token.iat).toBe(1234)
      expect(token.iat).toBeGreaterThanOrEqual(before)
      expect(token.iat).toBeLessThanOrEqual(after)
    })
  })

  /** An expired code stays in Redis for so long, so that the log can say so. */
  const KEPT_EXPIRED_MS = 60_000

  describe('authorization code', () => {
    test('is stored in Redis only as a hash, for its lifetime, and not in Postgres', async () => {
      const code = await obtainCode(server, client)
      expect(await remainingLife(server, code)).toBeGreaterThan(KEPT_EXPIRED_MS + 10_000)
      expect(await remainingLife(server, code)).toBeLessThanOrEqual(KEPT_EXPIRED_MS + 20_000)
      const record = await recordOf(server, code)
      expect(record).toMatch(/^issued /)
      expect(record).not.toContain(code.slice(6))
      expect(await grantOf(server, code)).toBeUndefined()
    })

    test('leaves a tombstone that expires', async () => {
      const code = await obtainCode(server, client)
      pairOf(await exchange(server, client, code))
      expect(await redisKeysOf(server, code)).toHaveLength(1)
      expect(await recordOf(server, code)).toMatch(/^taken /)
      expect(await remainingLife(server, code)).toBeGreaterThan(30_000)
      expect(await remainingLife(server, code)).toBeLessThanOrEqual(60_000)
    })

    test('with CODE_TTL=1 is refused as unknown, not as a replay, after it expired in Redis', async () => {
      const quick = await startInstance(server, { config: { codeTtl: 1 } })
      const newBrowser = () => new Browser(quick.publicServer, ISSUER)
      const code = await obtainCode({ ...quick, newBrowser }, client)
      expect(await remainingLife(server, code)).toBeLessThanOrEqual(KEPT_EXPIRED_MS + 1_000)
      // Redis decides when it is over, so its clock is the one to wait for.
      while ((await remainingLife(server, code)) > KEPT_EXPIRED_MS)
        await new Promise((resolve) => setTimeout(resolve, 20))
      const answer = await exchange(quick, client, code)
      expectRefusal(answer, 400, 'invalid_grant', INVALID_GRANT)
      expect(await auditOf(quick, answer)).toEqual([{ event: 'request_refused', reason: 'expired_code' }])
      expect(await grantOf(server, code)).toBeUndefined()
      await quick.close()
    })

    test('that is never exchanged leaves nothing in the stores', async () => {
      const code = await obtainCode(server, client)
      await forgetInRedis(server, code)
      expect(await grantOf(server, code)).toBeUndefined()
      expectRefusal(await exchange(server, client, code), 400, 'invalid_grant')
    })

    test('that was never issued is refused with the same description', async () => {
      const answer = await exchange(server, client, unknownCode())
      expectRefusal(answer, 400, 'invalid_grant', INVALID_GRANT)
      expect(await auditOf(server, answer)).toEqual([{ event: 'request_refused', reason: 'unknown_code' }])
    })
  })

  describe('a malformed code is refused with the same description and without a lookup (contract 2, "Tokens")', () => {
    let blind: TestServer
    const statements: string[] = []

    beforeAll(async () => {
      const nowhere = connectRedis(`redis://127.0.0.1:${await freePort()}`)
      blind = await startInstance(
        { ...server, redis: nowhere },
        {
          wrap: (database) => ({
            ...database,
            query(statement: Statement) {
              statements.push(statement.name)
              return database.query(statement)
            }
          })
        }
      )
    })
    afterAll(async () => {
      blind.redis.disconnect()
      await blind.close()
    })

    const code = unknownCode()
    test.each([
      { name: 'one character', value: 'x' },
      { name: 'no prefix', value: code.slice(6) },
      { name: 'the prefix of a refresh token', value: code.replace('vk_ac_', 'vk_rt_') },
      { name: 'the prefix of an access token', value: code.replace('vk_ac_', 'vk_at_') },
      { name: 'the prefix in upper case', value: code.replace('vk_ac_', 'VK_AC_') },
      { name: 'the prefix of another service', value: code.replace('vk_ac_', 'gh_ac_') },
      { name: 'one character missing', value: code.slice(0, -1) },
      { name: 'one character more', value: `${code}0` },
      { name: 'a trailing space', value: `${code} ` },
      { name: 'a wrong checksum', value: code.slice(0, -1) + (code.endsWith('0') ? '1' : '0') },
      { name: 'two characters swapped', value: swapTwo(code) },
      { name: 'a character outside the alphabet', value: `${code.slice(0, 20)}-${code.slice(21)}` },
      { name: 'upper and lower case swapped', value: code.slice(0, 6) + swapCase(code.slice(6)) },
      { name: 'five thousand characters', value: `vk_ac_${'x'.repeat(5_000)}` }
    ])('$name', async ({ value }) => {
      statements.length = 0
      const answer = await exchange(blind, client, value)
      expectRefusal(answer, 400, 'invalid_grant', INVALID_GRANT)
      expect(statements).toEqual(['find_client_with_secrets'])
      expect(await auditOf(blind, answer)).toEqual([{ event: 'request_refused', reason: 'malformed_code' }])
    })

    test('without Redis, an exchange of a well-formed code is 503', async () => {
      expect(kindOf(await exchange(blind, client, code))).toBe('503 temporarily_unavailable')
    })
  })

  test('two exchanges return different tokens; a public client without a code verifier gets none', async () => {
    const pairs = []
    for (let round = 0; round < 2; round++)
      pairs.push(pairOf(await exchange(server, client, await obtainCode(server, client))))
    expect(new Set(pairs.flatMap((pair) => [pair.access_token, pair.refresh_token])).size).toBe(4)
    const app = await createPublicClient(server)
    const code = await obtainCode(server, app, { change: PKCE })
    expect(kindOf(await exchange(server, app, code))).toBe('400 invalid_grant')
  })
})

function swapTwo(text: string): string {
  const at = [...text].findIndex((each, index) => index > 6 && each !== text[index + 1])
  return text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2)
}

function swapCase(text: string): string {
  return [...text].map((each) => (each === each.toUpperCase() ? each.toLowerCase() : each.toUpperCase())).join('')
}
