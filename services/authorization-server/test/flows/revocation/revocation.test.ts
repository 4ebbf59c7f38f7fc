import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket, newOpaqueAccessToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import { type Credentials, ISSUER, startTestServer, type TestServer } from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { basic, bodyCredentials, exchange, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.js'
import { createPublicClient, disable, isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

let server: TestServer
let browser: Browser
let client: Credentials
let publicClient: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  browser = server.newBrowser()
  await server.createUser('alice', PASSWORD)
  client = await server.createClient()
  publicClient = await createPublicClient(server)
  resourceServer = await server.createResourceServer()
})
afterAll(() => server.close())

describe('revocation', () => {
  let other: Credentials
  let first: Tokens

  beforeAll(async () => {
    other = await server.createClient()
  })
  beforeEach(async () => {
    first = await obtainTokens(server, client, {}, browser)
  })

  const revoke = (token: string, form: Record<string, string> = {}, by = client) =>
    post(server, '/oauth/revoke', { token, ...bodyCredentials(by), ...form })

  const alive = ({ access_token }: Tokens) => isActive(server, resourceServer, access_token)

  async function refreshes({ refresh_token }: Tokens, by = client): Promise<boolean> {
    return (await refresh(server, by, refresh_token)).statusCode === 200
  }

  function expectDone(answer: Awaited<ReturnType<typeof revoke>>): void {
    expect([answer.statusCode, answer.body]).toEqual([200, '{}'])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers).not.toHaveProperty('www-authenticate')
  }

  describe('revocation of an access token (RFC 7009 §2.1)', () => {
    test('ends only that token', async () => {
      const second = pairOf(await refresh(server, client, first.refresh_token))
      expectDone(await revoke(first.access_token))
      expect([await alive(first), await alive(second)]).toEqual([false, true])
      expect(await refreshes(second)).toBe(true)
    })

    test('keeps its refresh token usable', async () => {
      expectDone(await revoke(first.access_token))
      const second = pairOf(await refresh(server, client, first.refresh_token))
      expect(await alive(second)).toBe(true)
    })

    test.each(['access_token', 'refresh_token', 'code', 'id_token', ''])('works with the hint "%s"', async (hint) => {
      expectDone(await revoke(first.access_token, { token_type_hint: hint }))
      expect(await alive(first)).toBe(false)
    })
  })

  describe('revocation of a refresh token ends the grant (RFC 7009 §2.1)', () => {
    test.each(['refresh_token', 'access_token', 'code', 'id_token', ''])('with the hint "%s"', async (hint) => {
      expectDone(await revoke(first.refresh_token, { token_type_hint: hint }))
      expect([await alive(first), await refreshes(first)]).toEqual([false, false])
    })

    test('current token: all access and refresh tokens of the grant end', async () => {
      const second = pairOf(await refresh(server, client, first.refresh_token))
      expectDone(await revoke(second.refresh_token))
      expect([await alive(first), await alive(second)]).toEqual([false, false])
      expect([await refreshes(first), await refreshes(second)]).toEqual([false, false])
    })

    test('rotated token: the same, after any number of refreshes', async () => {
      const second = pairOf(await refresh(server, client, first.refresh_token))
      const third = pairOf(await refresh(server, client, second.refresh_token))
      expectDone(await revoke(first.refresh_token))
      expect([await alive(first), await alive(second), await alive(third)]).toEqual([false, false, false])
      expect(await refreshes(third)).toBe(false)
    })

    test('another grant of the same user and client stays active', async () => {
      const again = await obtainTokens(server, client)
      expectDone(await revoke(first.refresh_token))
      expect([await alive(again), await refreshes(again)]).toEqual([true, true])
    })

    test('a new sign-in afterwards returns active tokens', async () => {
      await revoke(first.refresh_token)
      expect(await alive(await obtainTokens(server, client))).toBe(true)
    })
  })

  describe('a repeated revocation (RFC 7009 §2.2)', () => {
    test.each(['access_token', 'refresh_token'] as const)('of an ended %s: 200 and {}', async (kind) => {
      for (let time = 0; time < 3; time++) expectDone(await revoke(first[kind]))
      expect(await alive(first)).toBe(false)
    })

    test('of an access token after its grant was ended: 200 and {}', async () => {
      await revoke(first.refresh_token)
      expectDone(await revoke(first.access_token))
      expect(await alive(first)).toBe(false)
    })

    test('of a refresh token after its access token: 200 and {}', async () => {
      await revoke(first.access_token)
      expectDone(await revoke(first.refresh_token))
      expect(await refreshes(first)).toBe(false)
    })
  })

  describe('revocation of a token that the client does not own changes nothing (RFC 7009 §2.2)', () => {
    test.each(['access_token', 'refresh_token'] as const)('%s of another client: 200 and {}', async (kind) => {
      const publicOther = await createPublicClient(server)
      for (const by of [other, publicOther]) expectDone(await revoke(first[kind], {}, by))
      expect([await alive(first), await refreshes(first)]).toEqual([true, true])
    })

    test('rotated refresh token of another client: 200 and {}', async () => {
      const second = pairOf(await refresh(server, client, first.refresh_token))
      expectDone(await revoke(first.refresh_token, {}, other))
      expect([await alive(second), await refreshes(second)]).toEqual([true, true])
    })

    test.each<{ name: string; value(): string }>([
      {
        name: 'an access token that was never issued',
        value: () => newOpaqueAccessToken(expiryBucket(new Date()), randomBytes)
      },
      { name: 'a refresh token that was never issued', value: () => newOpaqueToken('refreshToken', randomBytes) },
      { name: 'an unknown value', value: () => 'unknown' },
      { name: 'a token without its last character', value: () => first.access_token.slice(0, -1) },
      { name: 'a token with another last character', value: () => first.access_token.replace(/.$/, '-') },
      { name: 'two tokens in one', value: () => `${first.access_token} ${first.refresh_token}` },
      { name: 'the client’s own secret', value: () => client.clientSecret },
      { name: 'characters outside ASCII', value: () => 'töken' },
      { name: '12,000 characters', value: () => 'x'.repeat(12_000) }
    ])('$name: 200 and {}', async ({ value }) => {
      expectDone(await revoke(value()))
      expect([await alive(first), await refreshes(first)]).toEqual([true, true])
    })

    test('a value with a wrong checksum: no lookup, for every prefix', async () => {
      const asked: string[] = []
      const instance = await startInstance(server, {
        wrap: (database) => ({
          ...database,
          query(statement) {
            asked.push(statement.name)
            return database.query(statement)
          }
        })
      })
      for (const token of [first.access_token, first.refresh_token]) {
        const broken = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
        expectDone(await post(instance, '/oauth/revoke', { token: broken, ...bodyCredentials(client) }))
      }
      expect(asked).toEqual(['find_client_with_secrets', 'find_client_with_secrets'])
      await instance.close()
    })

    test('a code: 200 and {}, and the code can still be exchanged', async () => {
      const code = await obtainCode(server, client)
      expectDone(await revoke(code))
      expect((await exchange(server, client, code)).statusCode).toBe(200)
    })
  })

  describe('revocation: client authentication (RFC 7009 §2.1)', () => {
    test('a confidential client with Basic: accepted', async () => {
      expectDone(await post(server, '/oauth/revoke', { token: first.refresh_token }, basic(client)))
      expect(await alive(first)).toBe(false)
    })

    test.each(['access_token', 'refresh_token'] as const)(
      'a public client with its client_id may revoke its own %s',
      async (kind) => {
        const mine = await obtainTokens(server, publicClient)
        expectDone(await revoke(mine[kind], {}, publicClient))
        expect(await alive(mine)).toBe(false)
        expect(await refreshes(mine, publicClient)).toBe(kind === 'access_token')
      }
    )

    test('a client that gets no refresh tokens may revoke its access token', async () => {
      const plain = await server.createClient({ issuesRefreshTokens: false })
      const { access_token } = (await exchange(server, plain, await obtainCode(server, plain))).json()
      expectDone(await revoke(access_token, {}, plain))
      expect(await isActive(server, resourceServer, access_token)).toBe(false)
    })
  })
})

describe('requests', () => {
  const FORM = 'application/x-www-form-urlencoded'
  let shaky: TestServer
  let proxy: PostgresProxy
  let tokens: Tokens

  beforeAll(async () => {
    proxy = await startPostgresProxy(server.config.databaseUrl)
    shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
  })
  beforeEach(async () => {
    tokens = await obtainTokens(server, client, {}, browser)
  })
  afterEach(() => proxy.repair())
  afterAll(async () => {
    await shaky.close()
    await proxy.close()
  })

  const send = (payload: string, headers: Record<string, string> = { 'content-type': FORM }) =>
    server.publicServer.inject({ method: 'POST', url: '/oauth/revoke', headers, payload })

  const encode = (form: Record<string, string>) => new URLSearchParams(form).toString()

  async function expectAlive(): Promise<void> {
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expect((await refresh(server, client, tokens.refresh_token)).statusCode).toBe(200)
  }

  function expectRefusal(answer: Awaited<ReturnType<typeof send>>, status: number, error: string): void {
    expect([answer.statusCode, answer.json()]).toEqual([
      status,
      {
        error,
        error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
        error_uri: `${ISSUER}/errors/${error}`
      }
    ])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
  }

  describe('revocation: malformed request (RFC 7009 §2.2.1, RFC 6749 §5.2)', () => {
    test.each<{ name: string; payload(): string }>([
      { name: 'no token', payload: () => encode(bodyCredentials(client)) },
      { name: 'an empty token', payload: () => encode({ token: '', ...bodyCredentials(client) }) },
      {
        name: 'two tokens',
        payload: () => `token=${tokens.access_token}&token=${tokens.refresh_token}&${encode(bodyCredentials(client))}`
      },
      {
        name: 'the same token twice',
        payload: () => `token=${tokens.refresh_token}&token=${tokens.refresh_token}&${encode(bodyCredentials(client))}`
      },
      {
        name: 'two hints',
        payload: () =>
          `token=${tokens.refresh_token}&token_type_hint=a&token_type_hint=b&${encode(bodyCredentials(client))}`
      },
      {
        name: 'a token with an invalid percent-encoding',
        payload: () => `token=%zz&${encode(bodyCredentials(client))}`
      },
      { name: 'a token with a NUL', payload: () => `token=vk%00&${encode(bodyCredentials(client))}` },
      {
        name: 'a hint with an invalid percent-encoding',
        payload: () => `token=${tokens.refresh_token}&token_type_hint=%ff&${encode(bodyCredentials(client))}`
      },
      {
        name: 'two client ids',
        payload: () => `token=${tokens.refresh_token}&client_id=x&${encode(bodyCredentials(client))}`
      }
    ])('$name: invalid_request, and the tokens stay active', async ({ payload }) => {
      expectRefusal(await send(payload()), 400, 'invalid_request')
      await expectAlive()
    })

    test.each(['token', 'token_type_hint'])('a repeated %s is described as repeated, not as missing', async (name) => {
      const answer = await send(`token=a&${name}=b&${name}=c&${encode(bodyCredentials(client))}`)
      expect(answer.json().error_description).toBe(`The parameter ${name} is repeated or malformed.`)
    })

    test.each([
      { name: 'JSON', type: 'application/json' },
      { name: 'plain text', type: 'text/plain' },
      { name: 'multipart', type: 'multipart/form-data; boundary=x' },
      { name: 'no content type', type: undefined }
    ])('$name: invalid_request, with every kind of client authentication', async ({ type }) => {
      const payload = type === 'application/json' ? JSON.stringify({ token: tokens.refresh_token }) : 'token=x'
      const headers = { ...basic(client), ...(type !== undefined && { 'content-type': type }) }
      expectRefusal(await send(payload, headers), 400, 'invalid_request')
      await expectAlive()
    })

    test.each([`${FORM}; charset=UTF-8`, `${FORM};charset=utf-8`, FORM.toUpperCase()])(
      'the content type "%s" is accepted',
      async (type) => {
        const payload = encode({ token: tokens.access_token, ...bodyCredentials(client) })
        expect((await send(payload, { 'content-type': type })).statusCode).toBe(200)
        expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
      }
    )

    test('a token in the query is ignored, and so are credentials', async () => {
      const url = `/oauth/revoke?${encode({ token: tokens.refresh_token, ...bodyCredentials(client) })}`
      expectRefusal(await post(server, url, bodyCredentials(client)), 400, 'invalid_request')
      expectRefusal(await post(server, url, { token: tokens.refresh_token }), 401, 'invalid_client')
      await expectAlive()
    })

    test('a body over 16 KiB: 413', async () => {
      const payload = encode({ token: 'x'.repeat(17_000), ...bodyCredentials(client) })
      expectRefusal(await send(payload), 413, 'invalid_request')
    })
  })

  describe('revocation: failed client authentication (RFC 7009 §2.1, RFC 6749 §5.2)', () => {
    test.each<{ name: string; form(): Record<string, string> }>([
      { name: 'a wrong secret', form: () => ({ client_id: client.clientId, client_secret: 'wrong' }) },
      { name: 'no secret', form: () => ({ client_id: client.clientId }) },
      { name: 'an unknown client', form: () => ({ client_id: 'unknown', client_secret: 'x' }) },
      { name: 'no credentials', form: () => ({}) },
      { name: 'a public client with a secret', form: () => ({ client_id: publicClient.clientId, client_secret: 'x' }) },
      { name: 'a resource server', form: () => bodyCredentials(resourceServer) }
    ])('$name: 401 without a challenge, and the tokens stay active', async ({ form }) => {
      const answer = await post(server, '/oauth/revoke', { token: tokens.refresh_token, ...form() })
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.headers).not.toHaveProperty('www-authenticate')
      await expectAlive()
    })

    test.each<{ name: string; authorization(): string }>([
      {
        name: 'a wrong secret',
        authorization: () => basic({ ...client, clientSecret: 'wrong' }).authorization ?? ''
      },
      {
        name: 'an unknown client',
        authorization: () => basic({ clientId: 'x', clientSecret: 'y' }).authorization ?? ''
      },
      { name: 'Basic credentials that are not base64', authorization: () => 'Basic ???' },
      { name: 'its own access token as Bearer', authorization: () => `Bearer ${tokens.access_token}` }
    ])('$name in the header: 401 with the Basic challenge', async ({ authorization }) => {
      const form = { token: tokens.refresh_token }
      const answer = await post(server, '/oauth/revoke', form, { authorization: authorization() })
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.headers['www-authenticate']).toBe('Basic realm="valetkey", charset="UTF-8"')
      await expectAlive()
    })

    test('credentials in header and body: invalid_request', async () => {
      const form = { token: tokens.refresh_token, ...bodyCredentials(client) }
      expectRefusal(await post(server, '/oauth/revoke', form, basic(client)), 400, 'invalid_request')
      await expectAlive()
    })

    test('a disabled client: 401', async () => {
      const gone = await server.createClient()
      await disable(server, 'client', gone.clientId)
      const answer = await post(server, '/oauth/revoke', { token: 'x', ...bodyCredentials(gone) })
      expectRefusal(answer, 401, 'invalid_client')
    })
  })

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const)('%s is 405 with Allow: POST', async (method) => {
    const answer = await server.publicServer.inject({ method, url: '/oauth/revoke' })
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
    if (method !== 'HEAD') expect(answer.json().error).toBe('invalid_request')
  })

  describe('revocation while Postgres is unavailable (RFC 7009 §2.2.1)', () => {
    const revoke = (kind: 'access_token' | 'refresh_token') =>
      post(shaky, '/oauth/revoke', { token: tokens[kind], ...bodyCredentials(client) })

    test.each(['access_token', 'refresh_token'] as const)(
      '%s: 503 with Retry-After, and the token stays active',
      async (kind) => {
        proxy.cut()
        const answer = await revoke(kind)
        expectRefusal(answer, 503, 'temporarily_unavailable')
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
        await expectAlive()
      }
    )

    test.each([
      { kind: 'access_token', statement: 'revoke_access_token' },
      { kind: 'refresh_token', statement: 'end_grant_of_refresh_token' }
    ] as const)('$kind, only the last answer lost: 503, and the retry is 200', async ({ kind, statement }) => {
      proxy.loseAnswerTo(statement)
      expectRefusal(await revoke(kind), 503, 'temporarily_unavailable')
      expect((await revoke(kind)).statusCode).toBe(200)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(false)
    })
  })
})
