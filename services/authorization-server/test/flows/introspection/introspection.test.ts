import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket, newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import {
  AUDIENCE,
  type Credentials,
  ISSUER,
  REDIRECT_URI,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { stopClock } from '../../support/clock.js'
import {
  authorizeUrl,
  basic,
  bodyCredentials,
  exchange,
  introspect,
  obtainCode,
  PASSWORD,
  post,
  refresh,
  responseParameters
} from '../../support/flow.js'
import {
  createPublicClient,
  deleteRow,
  disable,
  enable,
  isActive,
  obtainTokens,
  pairOf,
  type Tokens
} from '../../support/tokens.js'

const clock = stopClock()
let server: TestServer
let resourceServer: Credentials

beforeAll(async () => {
  server = await startTestServer()
  resourceServer = await server.createResourceServer()
  await server.createUser('alice', PASSWORD)
})
afterAll(async () => {
  clock.restart()
  await server.close()
})

describe('introspection', () => {
  const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
  let userId: string
  let client: Credentials
  let tokens: Tokens
  let code: string
  let users = 0
  beforeEach(async () => {
    const username = `alice-${++users}`
    userId = await server.createUser(username, PASSWORD)
    client = await server.createClient()
    code = await obtainCode(server, client, { username, change: { scope: 'files.read:images files.read' } })
    tokens = pairOf(await exchange(server, client, code))
  })

  function expectInactive(answer: Awaited<ReturnType<typeof introspect>>): void {
    expect([answer.statusCode, answer.body]).toEqual([200, '{"active":false}'])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers.pragma).toBe('no-cache')
  }

  describe('introspection of an active access token (RFC 7662 §2.2)', () => {
    test('returns exactly the documented members', async () => {
      const issuedAt = clock.now().getTime() / 1000
      clock.advance(5)
      const answer = await introspect(server, resourceServer, tokens.access_token)
      expect(answer.statusCode).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.headers['cache-control']).toBe('no-store')
      expect(answer.headers.pragma).toBe('no-cache')
      expect(answer.json()).toEqual({
        active: true,
        scope: 'files.read:images files.read',
        client_id: client.clientId,
        sub: userId,
        iss: ISSUER,
        aud: AUDIENCE,
        iat: issuedAt,
        exp: issuedAt + 3600,
        jti: expect.stringMatching(UUID),
        token_type: 'Bearer',
        grant_id: expect.stringMatching(UUID)
      })
      expect(answer.body).not.toContain(`alice-${users}`)
    })

    test('jti and grant_id stay the same for repeated requests and differ from each other', async () => {
      const looks = [1, 2].map(() => introspect(server, resourceServer, tokens.access_token))
      const [first, second] = (await Promise.all(looks)).map((answer) => answer.json())
      expect(first).toEqual(second)
      expect(first.jti).not.toBe(first.grant_id)
    })

    test('is active one second before its expiry and inactive at its expiry', async () => {
      clock.advance(3599)
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      clock.advance(1)
      expectInactive(await introspect(server, resourceServer, tokens.access_token))
    })

    test('housekeeping deletes only expired tokens', async () => {
      await createExpiredRows(server.database).deleteSome()
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    })
  })

  describe('all other values get exactly {"active":false} (RFC 7662 §2.2)', () => {
    test.each<{ name: string; value(): string }>([
      { name: 'a refresh token', value: () => tokens.refresh_token },
      { name: 'a used code', value: () => code },
      { name: 'the client’s secret', value: () => client.clientSecret },
      { name: 'the caller’s own secret', value: () => resourceServer.clientSecret },
      {
        name: 'a well-formed token that was never issued',
        value: () => newOpaqueAccessToken(expiryBucket(new Date()), randomBytes)
      },
      {
        name: 'an access token with a wrong checksum',
        value: () => tokens.access_token.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A'))
      },
      { name: 'a token without its last character', value: () => tokens.access_token.slice(0, -1) },
      { name: 'a token with a trailing space', value: () => `${tokens.access_token} ` },
      { name: 'a token in upper case', value: () => tokens.access_token.toUpperCase() },
      { name: 'characters outside ASCII', value: () => 'tökén' },
      { name: 'a control character', value: () => 'vk_at_\u0000' },
      { name: '12,000 characters', value: () => 'x'.repeat(12_000) }
    ])('$name', async ({ value }) => {
      expectInactive(await introspect(server, resourceServer, value()))
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
    })

    test('an unused code gets {"active":false} and stays usable', async () => {
      const username = `alice-${users}`
      const unused = await obtainCode(server, client, { username })
      expectInactive(await introspect(server, resourceServer, unused))
      expect((await exchange(server, client, unused)).statusCode).toBe(200)
    })

    test.each([
      { name: 'an invalid percent-encoding', value: '%zz' },
      { name: 'bytes that are not UTF-8', value: '%ff' }
    ])('$name: {"active":false}', async ({ value }) => {
      const answer = await server.internalServer.inject({
        method: 'POST',
        url: '/introspect',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(resourceServer) },
        payload: `token=${value}`
      })
      expectInactive(answer)
    })

    test.each<{ name: string; ending(): Promise<unknown> }>([
      {
        name: 'a revoked token',
        ending: () => post(server, '/oauth/revoke', { token: tokens.access_token, ...bodyCredentials(client) })
      },
      {
        name: 'a token whose grant was revoked',
        ending: () => post(server, '/oauth/revoke', { token: tokens.refresh_token, ...bodyCredentials(client) })
      },
      { name: 'a token whose code was replayed', ending: () => exchange(server, client, code) },
      {
        name: 'a token whose refresh token was reused',
        ending: async () => {
          await refresh(server, client, tokens.refresh_token)
          clock.advance(30)
          await refresh(server, client, tokens.refresh_token)
        }
      },
      { name: 'a token of a disabled user', ending: () => disable(server, 'user', userId) },
      { name: 'a token of a deleted user', ending: () => deleteRow(server, 'user', userId) },
      { name: 'a token of a disabled client', ending: () => disable(server, 'client', client.clientId) },
      { name: 'a token of a deleted client', ending: () => deleteRow(server, 'client', client.clientId) },
      {
        name: 'a token of a user who was disabled and enabled again',
        ending: async () => {
          await disable(server, 'user', userId)
          await enable(server, 'user', userId)
        }
      },
      {
        name: 'a token of a client that was disabled and enabled again',
        ending: async () => {
          await disable(server, 'client', client.clientId)
          await enable(server, 'client', client.clientId)
        }
      },
      { name: 'an expired token', ending: async () => clock.advance(3600) },
      {
        name: 'an expired and deleted token',
        ending: async () => {
          clock.advance(86_400 * 100)
          await createExpiredRows(server.database).deleteSome()
        }
      }
    ])('$name', async ({ ending }) => {
      expect(await isActive(server, resourceServer, tokens.access_token)).toBe(true)
      await ending()
      expectInactive(await introspect(server, resourceServer, tokens.access_token))
    })

    test('the end of a user or client does not affect others', async () => {
      const username = `bob-${users}`
      await server.createUser(username, PASSWORD)
      const others = await server.createClient()
      const kept = pairOf(await exchange(server, others, await obtainCode(server, others, { username })))
      await disable(server, 'user', userId)
      await disable(server, 'client', client.clientId)
      expect(await isActive(server, resourceServer, kept.access_token)).toBe(true)
    })
  })

  test('a refreshed token with a narrower scope has its own scope, not that of the grant (RFC 6749 §6)', async () => {
    const narrow = pairOf(await refresh(server, client, tokens.refresh_token, { scope: 'files.read' }))
    const looks = [tokens, narrow].map(({ access_token }) => introspect(server, resourceServer, access_token))
    const scopes = (await Promise.all(looks)).map((answer) => answer.json().scope)
    expect(scopes).toEqual(['files.read:images files.read', 'files.read'])
  })
})

describe('callers', () => {
  const FORM = 'application/x-www-form-urlencoded'
  let client: Credentials
  let publicClient: Credentials
  let tokens: Tokens

  beforeAll(async () => {
    client = await server.createClient()
    publicClient = await createPublicClient(server)
    tokens = await obtainTokens(server, client)
  })

  const send = (payload: string, headers: Record<string, string> = {}) =>
    server.internalServer.inject({
      method: 'POST',
      url: '/introspect',
      headers: { 'content-type': FORM, ...headers },
      payload
    })

  const tokenForm = () => `token=${tokens.access_token}`

  function expectRefusal(answer: Awaited<ReturnType<typeof send>>, status: number, error: string): void {
    expect([answer.statusCode, answer.json()]).toEqual([
      status,
      { error, error_description: expect.any(String), error_uri: `${ISSUER}/errors/${error}` }
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).not.toContain('active')
  }

  describe('introspection: authentication (RFC 7662 §2.1)', () => {
    test('a resource server with Basic: accepted', async () => {
      expect((await send(tokenForm(), basic(resourceServer))).json()).toMatchObject({ active: true })
    })

    test('two credentials of one audience introspect the same token, each with its own secret', async () => {
      const second = await server.createResourceServer()
      const answers = await Promise.all(
        [resourceServer, second].map((by) => introspect(server, by, tokens.access_token))
      )
      expect(answers[0]?.json()).toEqual(answers[1]?.json())
      const mixed = { clientId: resourceServer.clientId, clientSecret: second.clientSecret }
      expectRefusal(await send(tokenForm(), basic(mixed)), 401, 'invalid_client')
    })

    test.each<{ name: string; by(): Credentials }>([
      { name: 'a wrong secret', by: () => ({ ...resourceServer, clientSecret: 'wrong' }) },
      { name: 'an empty secret', by: () => ({ ...resourceServer, clientSecret: '' }) },
      {
        name: 'a secret with one more character',
        by: () => ({ ...resourceServer, clientSecret: `${resourceServer.clientSecret}0` })
      },
      {
        name: 'an id in other letter case',
        by: () => ({ ...resourceServer, clientId: resourceServer.clientId.toUpperCase() })
      },
      { name: 'an unknown id', by: () => ({ clientId: 'rs_unknown', clientSecret: 'x' }) },
      { name: 'an id that no registration can have', by: () => ({ clientId: 'rs unknown', clientSecret: 'x' }) },
      { name: 'the client that owns the token', by: () => client },
      { name: 'a public client', by: () => publicClient },
      {
        name: 'the id of a third-party client with a valid secret',
        by: () => ({ ...resourceServer, clientId: client.clientId })
      }
    ])('$name: 401 with a challenge', async ({ by }) => {
      const answer = await send(tokenForm(), basic(by()))
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.headers['www-authenticate']).toBe('Basic realm="valetkey", charset="UTF-8"')
    })

    test.each<{ name: string; form(): Record<string, string>; headers(): Record<string, string> }>([
      { name: 'no credentials', form: () => ({}), headers: () => ({}) },
      { name: 'only an id in the body', form: () => ({ client_id: resourceServer.clientId }), headers: () => ({}) },
      { name: 'a third-party client in the body', form: () => bodyCredentials(client), headers: () => ({}) },
      {
        name: 'the token itself as Bearer',
        form: () => ({}),
        headers: () => ({ authorization: `Bearer ${tokens.access_token}` })
      },
      {
        name: 'Basic credentials that are not base64',
        form: () => ({}),
        headers: () => ({ authorization: 'Basic ???' })
      }
    ])('$name: 401 with a challenge', async ({ form, headers }) => {
      const answer = await send(`${tokenForm()}&${new URLSearchParams(form())}`, headers())
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.headers['www-authenticate']).toMatch(/^Basic /)
    })

    test('two authentication methods: invalid_request', async () => {
      const form = new URLSearchParams(bodyCredentials(resourceServer))
      expectRefusal(await send(`${tokenForm()}&${form}`, basic(resourceServer)), 400, 'invalid_request')
    })

    test('an unknown id and a wrong secret get the same response', async () => {
      const wrong = await send(tokenForm(), basic({ ...resourceServer, clientSecret: 'wrong' }))
      const unknown = await send(tokenForm(), basic({ clientId: 'rs_unknown', clientSecret: 'wrong' }))
      expect(wrong.body).toBe(unknown.body)
    })
  })

  describe('introspection: request (RFC 7662 §2.1)', () => {
    test.each<{ name: string; payload(): string }>([
      { name: 'no token', payload: () => 'token_type_hint=access_token' },
      { name: 'an empty token', payload: () => 'token=' },
      { name: 'an empty body', payload: () => '' },
      { name: 'a token twice', payload: () => `${tokenForm()}&${tokenForm()}` }
    ])('$name is invalid_request', async ({ payload }) => {
      expectRefusal(await send(payload(), basic(resourceServer)), 400, 'invalid_request')
    })

    test('a repeated token is described as repeated, not as missing', async () => {
      const answer = await send(`${tokenForm()}&${tokenForm()}`, basic(resourceServer))
      expect(answer.json().error_description).toBe('The parameter token must be sent once.')
    })

    test.each(['access_token', 'refresh_token', 'code', 'urn:unknown', ''])(
      'the hint "%s" does not change the result',
      async (hint) => {
        const form = `${tokenForm()}&token_type_hint=${hint}`
        expect((await send(form, basic(resourceServer))).json()).toMatchObject({ active: true })
        const refreshForm = `token=${tokens.refresh_token}&token_type_hint=${hint}`
        expect((await send(refreshForm, basic(resourceServer))).body).toBe('{"active":false}')
      }
    )

    test.each(['application/json', 'text/plain'])('content type %s: invalid_request', async (type) => {
      const payload = JSON.stringify({ token: tokens.access_token })
      expectRefusal(await send(payload, { ...basic(resourceServer), 'content-type': type }), 400, 'invalid_request')
    })

    test('a token in the query is ignored', async () => {
      const answer = await server.internalServer.inject({
        method: 'POST',
        url: `/introspect?${tokenForm()}`,
        headers: basic(resourceServer)
      })
      expectRefusal(answer, 400, 'invalid_request')
    })

    test.each(['GET', 'PUT', 'PATCH', 'DELETE'] as const)('%s is 405 with Allow: POST', async (method) => {
      const url = `/introspect?${tokenForm()}`
      const answer = await server.internalServer.inject({ method, url, headers: basic(resourceServer) })
      expect([answer.statusCode, answer.headers.allow, answer.json().error]).toEqual([405, 'POST', 'invalid_request'])
    })
  })

  describe('introspection: listeners (contract 1)', () => {
    test.each(['publicServer', 'operatorServer'] as const)(
      'not on the %s: 404, also with valid credentials',
      async (at) => {
        const answer = await server[at].inject({
          method: 'POST',
          url: '/introspect',
          headers: { 'content-type': FORM, ...basic(resourceServer) },
          payload: tokenForm()
        })
        expect(answer.statusCode).toBe(404)
        expect(answer.body).not.toContain('active')
      }
    )

    test.each(['/token', '/oauth/revoke', '/oauth/authorize', '/.well-known/oauth-authorization-server', '/login'])(
      '%s is not on the internal listener',
      async (url) => {
        for (const method of ['GET', 'POST'] as const) {
          expect((await server.internalServer.inject({ method, url })).statusCode).toBe(404)
        }
      }
    )
  })
})

describe('audience of a token (RFC 8707 §2)', () => {
  const REPORTS = 'https://reports.example/v2?tenant=a'
  const OF_REPORTS = { resource: REPORTS, scope: 'reports.read' }
  let client: Credentials
  let files: Credentials
  let reports: Credentials
  let filesTokens: Tokens
  let reportsTokens: Tokens

  beforeAll(async () => {
    await server.createScope('reports.read', { audience: REPORTS, isDefault: true })
    client = await server.createClient({ requiredScopes: ['files.read', 'reports.read'] })
    files = await server.createResourceServer()
    reports = await server.createResourceServer(REPORTS)
    filesTokens = await obtainTokens(server, client)
    reportsTokens = await obtainTokens(server, client, OF_REPORTS)
  })

  const audOf = async (caller: Credentials, { access_token }: Tokens) =>
    (await introspect(server, caller, access_token)).json().aud

  test('without resource: RESOURCE_URL', async () => {
    expect(await audOf(files, filesTokens)).toBe(AUDIENCE)
  })

  test('resource=RESOURCE_URL: the same', async () => {
    const tokens = await obtainTokens(server, client, { resource: AUDIENCE })
    expect(await audOf(files, tokens)).toBe(AUDIENCE)
  })

  test('empty resource: counts as absent', async () => {
    expect(await audOf(files, await obtainTokens(server, client, { resource: '' }))).toBe(AUDIENCE)
  })

  test('other resource: the registered identifier, byte for byte', async () => {
    expect(await audOf(reports, reportsTokens)).toBe(REPORTS)
  })

  test('a caller with another audience gets exactly {"active":false}, in both directions (RFC 7662 §2.2)', async () => {
    expect((await introspect(server, files, reportsTokens.access_token)).body).toBe('{"active":false}')
    expect((await introspect(server, reports, filesTokens.access_token)).body).toBe('{"active":false}')
  })

  test('a refresh keeps the audience, with or without resource', async () => {
    const second = pairOf(await refresh(server, client, reportsTokens.refresh_token))
    const third = pairOf(await refresh(server, client, second.refresh_token, { resource: REPORTS }))
    expect([await audOf(reports, second), await audOf(reports, third)]).toEqual([REPORTS, REPORTS])
    const refused = await refresh(server, client, third.refresh_token, { resource: AUDIENCE })
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_target'])
  })

  test('an exchange may repeat the resource, and refuses another one (RFC 8707 §2.2)', async () => {
    const code = await obtainCode(server, client, { change: OF_REPORTS })
    const refused = await exchange(server, client, code, { resource: AUDIENCE })
    expect([refused.statusCode, refused.json().error]).toEqual([400, 'invalid_target'])
    const tokens = pairOf(await exchange(server, client, code, { resource: REPORTS }))
    expect(await audOf(reports, tokens)).toBe(REPORTS)
  })

  test.each([
    'https://unknown.example',
    `${REPORTS}/`,
    'https://reports.example/v2',
    'https://reports.example/V2?tenant=a',
    'not a uri'
  ])('resource %s is not registered: invalid_target at the authorization endpoint', async (resource) => {
    const answer = await server.newBrowser().get(authorizeUrl(client.clientId, { resource }))
    expect(String(answer.headers.location)).toMatch(new RegExp(`^${REDIRECT_URI}\\?`))
    expect(responseParameters(answer).error).toBe('invalid_target')
  })

  test('another spelling of a resource is the same API at authorization, exchange and refresh (RFC 3986 §6.2.3)', async () => {
    const resource = REPORTS.replace('https://reports.example', 'HTTPS://Reports.example:443')
    const code = await obtainCode(server, client, { change: { resource, scope: undefined } })
    const tokens = pairOf(await exchange(server, client, code, { resource }))
    const refreshed = pairOf(await refresh(server, client, tokens.refresh_token, { resource }))
    expect([await audOf(reports, tokens), await audOf(reports, refreshed)]).toEqual([REPORTS, REPORTS])
    expect(refreshed.scope).toBe('reports.read')
  })

  test('two resource parameters are refused', async () => {
    const url = `${authorizeUrl(client.clientId, { resource: REPORTS })}&resource=${encodeURIComponent(AUDIENCE)}`
    const { error } = responseParameters(await server.newBrowser().get(url))
    expect(['invalid_request', 'invalid_target']).toContain(error)
  })
})
