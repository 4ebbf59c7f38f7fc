import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createScopeStore } from '../../../src/storage/postgres/scopes.js'
import { NOTE } from '../../support/audit-note.js'
import {
  COOKIES,
  type Credentials,
  ISSUER,
  startTestServer,
  type TestServer
} from '../../support/authorization-server.js'
import { post, refresh } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { NEW_SCOPE } from '../../support/new-scope.js'
import { startPostgresProxy } from '../../support/postgres-proxy.js'

const PATH = '/.well-known/oauth-authorization-server'
const METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']
const ALGORITHMS = ['ES256', 'PS256', 'EdDSA', 'Ed25519', 'RS256']
const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/oauth/authorize`,
  token_endpoint: `${ISSUER}/token`,
  revocation_endpoint: `${ISSUER}/oauth/revoke`,
  scopes_supported: expect.arrayContaining(['files.read']),
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: METHODS,
  token_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  revocation_endpoint_auth_methods_supported: METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  code_challenge_methods_supported: ['S256'],
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
  ui_locales_supported: ['ar', 'de', 'en'],
  authorization_response_iss_parameter_supported: true,
  // Of a feature.
  pushed_authorization_request_endpoint: `${ISSUER}/oauth/par`,
  require_pushed_authorization_requests: false
}

let server: TestServer
let client: Credentials

beforeAll(async () => {
  server = await startTestServer()
  client = await server.createClient()
})
afterAll(() => server.close())

const get = (url: string, headers: Record<string, string> = {}) =>
  server.publicServer.inject({ method: 'GET', url, headers })

describe('the metadata document (RFC 8414 2, 3.2)', () => {
  test('is this JSON, cacheable for five minutes', async () => {
    const answer = await get(PATH)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('public, max-age=300')
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(answer.json()).toEqual(DOCUMENT)
  })

  test.each([
    { name: 'a query', url: `${PATH}?issuer=https://evil.example` },
    { name: 'a cookie', headers: { cookie: `${COOKIES.session}=x` } },
    { name: 'another Accept', headers: { accept: 'text/html' } },
    { name: 'a caller’s language', headers: { 'accept-language': 'de' } },
    { name: 'Host', headers: { host: 'evil.example' } },
    { name: 'X-Forwarded-Host', headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-port': '444' } },
    { name: 'X-Forwarded-Proto', headers: { 'x-forwarded-proto': 'https' } },
    { name: 'X-Forwarded-Prefix', headers: { 'x-forwarded-prefix': '/evil' } },
    { name: 'Forwarded', headers: { forwarded: 'host=evil.example;proto=https' } },
    { name: 'X-Original-URL', headers: { 'x-original-url': '/evil', 'x-rewrite-url': '/evil' } }
  ])('$name does not change it', async ({ url, headers }) => {
    expect((await get(url ?? PATH, headers)).body).toBe((await get(PATH)).body)
  })

  test('a trusted proxy does not change it: the issuer is in the configuration', async () => {
    const trusting = await startInstance(server, { config: { trustedProxies: ['127.0.0.1'] } })
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }
    const answer = await trusting.publicServer.inject({ method: 'GET', url: PATH, headers })
    expect(answer.json()).toEqual(DOCUMENT)
    const refused = await post(trusting, '/token', {}, headers)
    expect(refused.json().error_uri).toBe(`${ISSUER}/errors/invalid_client`)
    await trusting.close()
  })

  test('lists every scope of the catalogue; a new one immediately, after the built-in ones', async () => {
    const scopes = createScopeStore(server.database)
    const builtIn = (await scopes.list()).map(({ name }) => name)
    expect((await get(PATH)).json().scopes_supported).toEqual(builtIn)
    await scopes.create({ ...NEW_SCOPE, name: 'a.report', title: 'Report' }, NOTE)
    expect((await get(PATH)).json().scopes_supported).toEqual([...builtIn, 'a.report'])
    const text = `delete from scopes where name = 'a.report'`
    await server.database.query({ name: 'test_delete_scope', text, values: [] })
    expect((await get(PATH)).json()).toEqual(DOCUMENT)
  })

  test('contains no endpoint of the internal and operator listeners, and no member of OpenID Connect', async () => {
    const { body } = await get(PATH)
    expect(body).not.toMatch(/introspect|revocations|admin|metrics|4001|4002/)
    expect(body).not.toMatch(/openid|id_token|userinfo|jwks|subject_types|claims|registration|end_session/)
  })

  test('has no empty and no null member (RFC 8414 §3.2)', async () => {
    const values = Object.values((await get(PATH)).json())
    expect(values.filter((value) => value === null || value === '' || (Array.isArray(value) && !value.length))).toEqual(
      []
    )
  })

  test('HEAD has the headers and no body; other methods are 405', async () => {
    const head = await server.publicServer.inject({ method: 'HEAD', url: PATH })
    expect([head.statusCode, head.body, head.headers['content-type']]).toEqual([
      200,
      '',
      'application/json; charset=utf-8'
    ])
    for (const method of ['POST', 'PUT', 'DELETE'] as const) {
      const answer = await server.publicServer.inject({ method, url: PATH })
      expect([answer.statusCode, answer.headers.allow, answer.json().error]).toEqual([
        405,
        'GET, HEAD',
        'invalid_request'
      ])
    }
  })

  test('is 503 while Postgres is unavailable, and not cacheable', async () => {
    const proxy = await startPostgresProxy(server.config.databaseUrl)
    const shaky = await startInstance(server, { config: { databaseUrl: proxy.url } })
    proxy.cut()
    const answer = await shaky.publicServer.inject({ method: 'GET', url: PATH })
    expect([answer.statusCode, answer.headers['cache-control'], answer.json().error]).toEqual([
      503,
      'no-store',
      'temporarily_unavailable'
    ])
    proxy.repair()
    expect((await shaky.publicServer.inject({ method: 'GET', url: PATH })).json()).toEqual(DOCUMENT)
    await shaky.close()
    await proxy.close()
  })
})

describe('advertised features work, and others do not exist', () => {
  test('the authorization endpoint responds with iss (RFC 9207 §2)', async () => {
    const { authorization_endpoint } = (await get(PATH)).json()
    const query = new URLSearchParams({ client_id: client.clientId, redirect_uri: 'https://app.example/callback' })
    const { statusCode, headers } = await get(`${new URL(authorization_endpoint).pathname}?${query}`)
    expect(statusCode).toBe(303)
    expect(new URL(String(headers.location)).searchParams.get('iss')).toBe(ISSUER)
  })

  test.each(['token_endpoint', 'revocation_endpoint'])('%s accepts POST', async (name) => {
    const { pathname } = new URL((await get(PATH)).json()[name])
    expect((await post(server, pathname, {})).json().error).toBe('invalid_client')
  })

  test.each(['authorization_code', 'refresh_token'])('the grant type %s is supported', async (grant_type) => {
    expect((await refresh(server, client, 'x', { grant_type })).json().error).not.toBe('unsupported_grant_type')
  })

  test.each(['client_credentials', 'password', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'])(
    'the grant type %s is not',
    async (grant_type) => {
      expect((await refresh(server, client, 'x', { grant_type })).json().error).toBe('unsupported_grant_type')
    }
  )

  test.each([
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/',
    '/.well-known/oauth-authorization-server/tenant',
    '/.well-known/oauth-protected-resource',
    '/.well-known/jwks.json',
    '/introspect',
    '/oauth/introspect',
    '/revocations',
    '/userinfo',
    '/oauth/token',
    '/revoke'
  ])('%s is 404', async (url) => {
    expect((await get(url)).statusCode).toBe(404)
    expect((await post(server, url, {})).statusCode).toBe(404)
  })
})
