import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { INVALID_GRANT, newOpaqueToken } from '@valetkey/oauth-protocol'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import type { Browser } from '../../support/browser.js'
import { stopClock } from '../../support/clock.js'
import { basic, bodyCredentials, introspect, obtainCode, PASSWORD, post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { createPublicClient, isActive, obtainTokens, pairOf, type Tokens } from '../../support/tokens.js'

const clock = stopClock()
let server: TestServer
let browser: Browser
let publicClient: Credentials
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  browser = server.newBrowser()
  await server.createUser('alice', PASSWORD)
  publicClient = await createPublicClient(server)
  resourceServer = await server.createResourceServer()
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('refresh', () => {
  const WIDE = 'files.read files.read:images'
  const REFRESH_TOKEN = expect.stringMatching(/^vk_rt_[0-9A-Za-z]{49}$/)
  const ACCESS_TOKEN = expect.stringMatching(/^vk_at_[0-9A-Za-z]{53}$/)
  let confidential: Credentials

  beforeAll(async () => {
    confidential = await server.createClient()
  })

  describe('rotation (RFC 6749 §6, RFC 9700 §4.14.2)', () => {
    test.each(['confidential', 'public'] as const)(
      'a %s client gets a new pair, member for member what RFC 6749 5.1 shows',
      async (type) => {
        const client = type === 'public' ? publicClient : confidential
        const first = await obtainTokens(server, client)
        clock.advance(60)
        const answer = await refresh(server, client, first.refresh_token)
        expect(answer.statusCode).toBe(200)
        expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
        expect(answer.headers['cache-control']).toBe('no-store')
        expect(answer.headers.pragma).toBe('no-cache')
        expect(answer.headers).not.toHaveProperty('www-authenticate')
        const second = answer.json()
        expect(second).toEqual({
          access_token: ACCESS_TOKEN,
          token_type: 'Bearer',
          expires_in: 3600,
          scope: 'files.read',
          refresh_token: REFRESH_TOKEN
        })
        expect(second.access_token).not.toBe(first.access_token)
        expect(second.refresh_token).not.toBe(first.refresh_token)
      }
    )

    test('Basic in the header works like the secret in the body (RFC 6749 §2.3.1)', async () => {
      const { refresh_token } = await obtainTokens(server, confidential)
      const answer = await post(server, '/token', { grant_type: 'refresh_token', refresh_token }, basic(confidential))
      expect(pairOf(answer).refresh_token).toEqual(REFRESH_TOKEN)
    })

    test('the earlier access token stays active until it expires', async () => {
      const first = await obtainTokens(server, confidential)
      const second = pairOf(await refresh(server, confidential, first.refresh_token))
      expect(await isActive(server, resourceServer, first.access_token)).toBe(true)
      expect(await isActive(server, resourceServer, second.access_token)).toBe(true)
    })

    test('a chain of ten refreshes has one grant and one user, and every jti is new', async () => {
      const first = await obtainTokens(server, confidential)
      const seen = [(await introspect(server, resourceServer, first.access_token)).json()]
      let current = first
      for (let step = 0; step < 10; step++) {
        clock.advance(31)
        current = pairOf(await refresh(server, confidential, current.refresh_token))
        seen.push((await introspect(server, resourceServer, current.access_token)).json())
      }
      expect(new Set(seen.map(({ grant_id, sub, client_id }) => `${grant_id} ${sub} ${client_id}`)).size).toBe(1)
      expect(new Set(seen.map(({ jti }) => jti)).size).toBe(11)
    })

    test('expires_in and the expiry of the token are the same time', async () => {
      const first = await obtainTokens(server, confidential)
      clock.advance(100)
      const second = pairOf(await refresh(server, confidential, first.refresh_token))
      const { iat, exp } = (await introspect(server, resourceServer, second.access_token)).json()
      expect(iat).toBe(clock.now().getTime() / 1000)
      expect(exp).toBe(iat + second.expires_in)
    })

    test('a client without refresh tokens gets unauthorized_client, and its tokens stay active (RFC 6749 §5.2)', async () => {
      const client = await server.createClient()
      const { refresh_token, access_token } = await obtainTokens(server, client)
      const text = 'update clients set issues_refresh_tokens = $2 where client_id = $1'
      const set = (on: boolean) =>
        server.database.query({ name: 'test_issues_refresh_tokens', text, values: [client.clientId, on] })
      await set(false)
      const refused = await refresh(server, client, refresh_token)
      expect([refused.statusCode, refused.json().error]).toEqual([400, 'unauthorized_client'])
      expect(await isActive(server, resourceServer, access_token)).toBe(true)
      await set(true)
      expect((await refresh(server, client, refresh_token)).statusCode).toBe(200)
    })
  })

  describe('scope of a refresh (RFC 6749 §6)', () => {
    let tokens: Tokens
    beforeEach(async () => {
      tokens = await obtainTokens(server, confidential, { scope: WIDE }, browser)
    })

    test.each([
      { name: 'absent', form: {}, scope: WIDE },
      { name: 'empty, which counts as absent', form: { scope: '' }, scope: WIDE },
      { name: 'the same', form: { scope: WIDE }, scope: WIDE },
      {
        name: 'the same in another order',
        form: { scope: 'files.read:images files.read' },
        scope: 'files.read:images files.read'
      },
      { name: 'one of two', form: { scope: 'files.read:images' }, scope: 'files.read:images' },
      { name: 'one of two, named twice', form: { scope: 'files.read files.read' }, scope: 'files.read' }
    ])('$name: the access token has it, and the scope of the grant does not change', async ({ form, scope }) => {
      const second = pairOf(await refresh(server, confidential, tokens.refresh_token, form))
      expect(second.scope).toBe(scope)
      expect((await introspect(server, resourceServer, second.access_token)).json().scope).toBe(scope)
      const third = pairOf(await refresh(server, confidential, second.refresh_token))
      expect(third.scope).toBe(WIDE)
      expect((await introspect(server, resourceServer, third.access_token)).json().scope).toBe(WIDE)
    })

    test('a narrower access token does not change the earlier one', async () => {
      await refresh(server, confidential, tokens.refresh_token, { scope: 'files.read:images' })
      expect((await introspect(server, resourceServer, tokens.access_token)).json().scope).toBe(WIDE)
    })

    test.each([
      { name: 'wider by one', scope: `${WIDE} files.read:media` },
      { name: 'another one only', scope: 'files.read:media' },
      { name: 'unknown', scope: 'no.such.scope' },
      { name: 'in other letter case', scope: 'Files.Read' },
      { name: 'a part of a name', scope: 'files' },
      { name: 'two spaces between', scope: 'files.read  files.read:images' },
      { name: 'a space in front', scope: ' files.read' },
      { name: 'a trailing space', scope: 'files.read ' },
      { name: 'a character that no scope has', scope: 'files.read"' },
      { name: 'outside ASCII', scope: 'filés' },
      { name: 'separated by commas', scope: 'files.read,files.read:images' }
    ])('$name is invalid_scope, and the token stays valid (RFC 6749 §5.2)', async ({ scope }) => {
      const refused = await refresh(server, confidential, tokens.refresh_token, { scope })
      expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_scope'])
      const second = pairOf(await refresh(server, confidential, tokens.refresh_token))
      expect(second.scope).toBe(WIDE)
    })

    test('a scope that was removed from the client is dropped, and the response says so (RFC 6749 §6)', async () => {
      const client = await server.createClient()
      const first = await obtainTokens(server, client, { scope: WIDE })
      await server.database.query({
        name: 'test_shrink_scopes',
        text: `update clients set required_scopes = '{files.read}' where client_id = $1`,
        values: [client.clientId]
      })
      expect(pairOf(await refresh(server, client, first.refresh_token)).scope).toBe('files.read')
    })
  })
})

describe('refusals', () => {
  let client: Credentials
  let other: Credentials
  let tokens: Tokens

  beforeAll(async () => {
    client = await server.createClient()
    other = await server.createClient()
  })
  beforeEach(async () => {
    tokens = await obtainTokens(server, client, {}, browser)
  })

  const invalidGrant = {
    error: 'invalid_grant',
    error_description: INVALID_GRANT,
    error_uri: `${ISSUER}/errors/invalid_grant`
  }

  /** Checks that both tokens are still valid. */
  async function expectUntouched(): Promise<void> {
    expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    expect((await refresh(server, client, tokens.refresh_token)).statusCode).toBe(200)
  }

  const swapped = (text: string) => (text === 'A' ? 'B' : 'A')

  describe('a value that is not a refresh token (RFC 6749 §5.2)', () => {
    test.each<{ name: string; value(): string | Promise<string> }>([
      { name: 'an access token', value: () => tokens.access_token },
      { name: 'an authorization code', value: () => obtainCode(server, client) },
      { name: 'its own client secret', value: () => client.clientSecret },
      { name: 'well-formed and never issued', value: () => newOpaqueToken('refreshToken', randomBytes) },
      { name: 'of another kind’s prefix', value: () => tokens.refresh_token.replace('vk_rt_', 'vk_at_') },
      { name: 'with a wrong checksum', value: () => tokens.refresh_token.replace(/.$/, swapped) },
      { name: 'with a wrong first character', value: () => tokens.refresh_token.replace(/^(vk_rt_)(.)/, '$1-') },
      { name: 'one character short', value: () => tokens.refresh_token.slice(0, -1) },
      { name: 'one character long', value: () => `${tokens.refresh_token}0` },
      { name: 'with a space in front', value: () => ` ${tokens.refresh_token}` },
      { name: 'in upper case', value: () => tokens.refresh_token.toUpperCase() },
      { name: 'outside ASCII', value: () => 'vk_rt_ü' },
      { name: '12,000 characters', value: () => 'v'.repeat(12_000) },
      { name: 'SQL', value: () => `' or 1=1 --` }
    ])('$name is invalid_grant, and nothing changes', async ({ value }) => {
      const answer = await refresh(server, client, await value())
      expect([answer.statusCode, answer.json()]).toEqual([400, invalidGrant])
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers.pragma).toBe('no-cache')
      await expectUntouched()
    })

    test('a code given as refresh token can still be exchanged', async () => {
      const code = await obtainCode(server, client)
      await refresh(server, client, code)
      const form = { grant_type: 'authorization_code', code, redirect_uri: 'https://app.example/callback' }
      expect((await post(server, '/token', { ...form, ...bodyCredentials(client) })).statusCode).toBe(200)
    })

    test('such a value causes no lookup', async () => {
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
      for (const value of [`${tokens.refresh_token}0`, tokens.access_token]) await refresh(instance, client, value)
      expect(asked).toEqual(['find_client_with_secrets', 'find_client_with_secrets'])
      await refresh(instance, client, tokens.refresh_token)
      expect(asked).toContain('find_refresh_token')
      await instance.close()
    })
  })

  describe('refresh token of another client (RFC 6749 §6, §10.4)', () => {
    test.each<{ name: string; by(): Credentials }>([
      { name: 'another confidential client', by: () => other },
      { name: 'a public client', by: () => publicClient }
    ])('$name is refused, and the tokens of the owner do not change', async ({ by }) => {
      const answer = await refresh(server, by(), tokens.refresh_token)
      expect([answer.statusCode, answer.json()]).toEqual([400, invalidGrant])
      await expectUntouched()
    })

    test('a public client cannot use the token of another public client', async () => {
      const mine = await obtainTokens(server, publicClient)
      const stranger = await createPublicClient(server)
      expect((await refresh(server, stranger, mine.refresh_token)).json()).toEqual(invalidGrant)
      expect((await refresh(server, publicClient, mine.refresh_token)).statusCode).toBe(200)
    })

    test('a wider scope or another resource gets the same refusal', async () => {
      for (const change of [{ scope: 'files.read:media' }, { resource: 'https://other.example' }]) {
        expect((await refresh(server, other, tokens.refresh_token, change)).json()).toEqual(invalidGrant)
      }
      await expectUntouched()
    })
  })

  describe('an invalid request ends nothing and rotates nothing', () => {
    test.each<{ name: string; change: Record<string, string>; status: number; error: string }>([
      { name: 'a wrong secret', change: { client_secret: 'wrong' }, status: 401, error: 'invalid_client' },
      { name: 'no secret', change: { client_secret: '' }, status: 401, error: 'invalid_client' },
      { name: 'an unknown client', change: { client_id: 'unknown' }, status: 401, error: 'invalid_client' },
      { name: 'no client', change: { client_id: '', client_secret: '' }, status: 401, error: 'invalid_client' },
      { name: 'no grant_type', change: { grant_type: '' }, status: 400, error: 'invalid_request' },
      { name: 'another grant_type', change: { grant_type: 'password' }, status: 400, error: 'unsupported_grant_type' },
      {
        name: 'grant_type in upper case',
        change: { grant_type: 'Refresh_Token' },
        status: 400,
        error: 'unsupported_grant_type'
      },
      { name: 'an empty refresh_token', change: { refresh_token: '' }, status: 400, error: 'invalid_request' },
      { name: 'another resource', change: { resource: 'https://other.example' }, status: 400, error: 'invalid_target' },
      {
        name: 'the resource with two slashes',
        change: { resource: `${AUDIENCE}//` },
        status: 400,
        error: 'invalid_target'
      },
      { name: 'a resource that is no URI', change: { resource: 'files' }, status: 400, error: 'invalid_target' }
    ])('$name: $status $error', async ({ change, status, error }) => {
      const answer = await refresh(server, client, tokens.refresh_token, change)
      expect([answer.statusCode, answer.json().error]).toEqual([status, error])
      await expectUntouched()
    })

    test.each(['grant_type', 'refresh_token', 'scope', 'resource', 'client_id', 'client_secret'])(
      'a repeated %s is invalid_request',
      async (name) => {
        const form = new URLSearchParams({
          grant_type: 'refresh_token',
          refresh_token: tokens.refresh_token,
          scope: 'files.read',
          resource: AUDIENCE,
          ...bodyCredentials(client)
        })
        form.append(name, form.get(name) ?? '')
        const answer = await postRaw(form.toString())
        expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request'])
        await expectUntouched()
      }
    )

    test.each([
      { name: 'an invalid percent-encoding', value: '%zz' },
      { name: 'bytes that are not UTF-8', value: '%ff%fe' },
      { name: 'a NUL', value: 'vk_rt_%00' }
    ])('$name in refresh_token is invalid_request', async ({ value }) => {
      const credentials = new URLSearchParams(bodyCredentials(client))
      const answer = await postRaw(`grant_type=refresh_token&refresh_token=${value}&${credentials}`)
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request'])
    })

    test('a wrong secret in the header gets a challenge (RFC 6749 §5.2)', async () => {
      const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      const answer = await post(server, '/token', form, basic({ ...client, clientSecret: 'wrong' }))
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client'])
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="/)
      await expectUntouched()
    })

    test('a public client with a secret is refused', async () => {
      const mine = await obtainTokens(server, publicClient)
      const answer = await refresh(server, publicClient, mine.refresh_token, { client_secret: 'some-secret' })
      expect([answer.statusCode, answer.json().error]).toEqual([401, 'invalid_client'])
      expect((await refresh(server, publicClient, mine.refresh_token)).statusCode).toBe(200)
    })

    test('the resource of the grant and unknown parameters are accepted (RFC 8707 §2.2)', async () => {
      const change = { resource: AUDIENCE, redirect_uri: 'https://app.example/other', foo: 'bar' }
      const next = pairOf(await refresh(server, client, tokens.refresh_token, change))
      expect(await isActive(server, resourceServer, next.access_token)).toBe(true)
    })

    function postRaw(payload: string) {
      return server.publicServer.inject({
        method: 'POST',
        url: '/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload
      })
    }
  })
})
