import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Credentials, REDIRECT_URI, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { basic, bodyCredentials, introspect, PASSWORD, post, responseParameters } from '../../support/flow.js'
import { pairOf, type Tokens } from '../../support/tokens.js'

const WELL_KNOWN = '/.well-known/oauth-authorization-server'

describe.each([
  { issuer: 'https://auth.example/tenant', base: '/tenant' },
  { issuer: 'https://auth.example:8443/a/b.c-d_e', base: '/a/b.c-d_e' },
  { issuer: 'http://localhost:4000/tenant', base: '/tenant' }
])('an issuer with a path: $issuer (RFC 8414 3.1)', ({ issuer, base }) => {
  let server: TestServer
  let client: Credentials
  let resourceServer: Credentials
  let tokens: Tokens
  let metadata: Record<string, string>

  beforeAll(async () => {
    server = await startTestServer({ ISSUER: issuer })
    await server.createUser('alice', PASSWORD)
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
    metadata = (await get(`${WELL_KNOWN}${base}`)).json()
  })
  afterAll(() => server.close())

  const get = (url: string) => server.publicServer.inject({ method: 'GET', url })

  test('has metadata between host and path, with the exact issuer (RFC 8414 3.3)', () => {
    expect(metadata).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/token`,
      revocation_endpoint: `${issuer}/oauth/revoke`
    })
  })

  test.each([WELL_KNOWN, `${base}${WELL_KNOWN}`, `${WELL_KNOWN}${base}/`, `${WELL_KNOWN}${base}x`])(
    'has no metadata at %s',
    async (url) => {
      expect((await get(url)).statusCode).toBe(404)
    }
  )

  test('sign-in, consent and code work by the addresses of the pages', async () => {
    const browser = server.newBrowser()
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client.clientId,
      redirect_uri: REDIRECT_URI,
      scope: 'files.read',
      state: 'a state'
    })
    const login = await browser.open(`${metadata.authorization_endpoint}?${query}`)
    expect(new URL(login.url).pathname).toBe(`${base}/login`)
    const consent = await browser.submit(login, { username: 'alice', password: PASSWORD })
    expect(new URL(consent.url).pathname).toBe(`${base}/consent`)
    const { code, iss, state } = responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))
    expect([iss, state]).toEqual([issuer, 'a state'])
    const form = { grant_type: 'authorization_code', code: code ?? '', redirect_uri: REDIRECT_URI }
    tokens = pairOf(await post(server, pathOf('token_endpoint'), form, basic(client)))
  })

  test('introspection contains the exact issuer (RFC 7662 2.2)', async () => {
    expect((await introspect(server, resourceServer, tokens.access_token)).json().iss).toBe(issuer)
  })

  test('refresh and revocation', async () => {
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const second = pairOf(await post(server, pathOf('token_endpoint'), form, basic(client)))
    const revoked = await post(server, pathOf('revocation_endpoint'), { token: second.refresh_token }, basic(client))
    expect([revoked.statusCode, revoked.body]).toEqual([200, '{}'])
    expect((await introspect(server, resourceServer, second.access_token)).body).toBe('{"active":false}')
  })

  test('error_uri of the token endpoint is an existing page', async () => {
    const form = { grant_type: 'refresh_token', refresh_token: 'x', ...bodyCredentials(client) }
    const { error_uri } = (await post(server, pathOf('token_endpoint'), form)).json()
    expect(error_uri).toBe(`${issuer}/errors/invalid_grant`)
    expect((await get(new URL(error_uri).pathname)).statusCode).toBe(200)
  })

  test('the stylesheet of a page exists', async () => {
    const page = await server.newBrowser().get(`${issuer}/errors/invalid_grant`)
    const [, href] = /<link rel="stylesheet" href="([^"]+)"/.exec(page.body) ?? []
    const url = new URL(href ?? '', `${issuer}/errors/`)
    expect(url.href.startsWith(`${issuer}/`)).toBe(true)
    expect((await get(url.pathname)).statusCode).toBe(200)
  })

  test('a wrong method is 405 with JSON, with any Accept header', async () => {
    for (const name of ['token_endpoint', 'revocation_endpoint'] as const) {
      const answer = await server.publicServer.inject({
        method: 'GET',
        url: pathOf(name),
        headers: { accept: 'text/html' }
      })
      expect([answer.statusCode, answer.headers.allow, answer.json().error]).toEqual([405, 'POST', 'invalid_request'])
    }
  })

  test.each(['/token', '/oauth/revoke', '/oauth/authorize', '/login', '/consent', '/errors/invalid_grant'])(
    '%s without the path is 404',
    async (url) => {
      expect((await get(url)).statusCode).toBe(404)
      expect((await post(server, url, {})).statusCode).toBe(404)
    }
  )

  function pathOf(name: 'token_endpoint' | 'revocation_endpoint'): string {
    return new URL(metadata[name] ?? '').pathname
  }
})
