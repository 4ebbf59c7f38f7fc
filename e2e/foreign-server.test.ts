import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { bearerPlugin } from '@valetkey/guard/fastify'
import { type FastifyInstance, fastify } from 'fastify'
import * as openid from 'openid-client'
import { createHttpBrowser } from '../packages/dev-stack/lib/client/http-browser.mjs'
import { startForeignServer } from './support/foreign-server.mjs'

const RESOURCE = 'https://reports.example'
const OTHER_RESOURCE = 'https://photos.example'
const client = { id: 'printer', secret: 'printer-secret', redirectUri: 'https://printer.example/callback' }
const api = { id: 'reports api', secret: 'a secret: with % signs' }

let server: Awaited<ReturnType<typeof startForeignServer>>
let configuration: openid.Configuration
let app: FastifyInstance
let now: Date

beforeAll(async () => {
  // oidc-provider needs it to read proofs, and Node 20 lacks it.
  URL.parse ??= (url, base) => (URL.canParse(url, base) ? new URL(url, base) : null)
  jest.spyOn(console, 'warn').mockImplementation(() => {})
  const scopesOf = { [RESOURCE]: 'reports.read reports.write', [OTHER_RESOURCE]: 'reports.read' }
  server = await startForeignServer({ client, api, scopesOf })
  configuration = await openid.discovery(new URL(server.issuer), client.id, client.secret, undefined, {
    execute: [openid.allowInsecureRequests]
  })
  app = fastify()
  await app.register(bearerPlugin, {
    issuer: server.issuer,
    resource: RESOURCE,
    scopesSupported: ['reports.read'],
    tokenFormat: 'any',
    dpop: {},
    introspection: { url: `${server.issuer}/token/introspection`, clientId: api.id, clientSecret: api.secret },
    now: () => now
  })
  app.get('/reports', { onRequest: app.requireAccessToken('reports.read') }, async ({ accessToken }) => ({
    ...accessToken,
    scope: [...accessToken.scope]
  }))
  now = new Date()
})
afterAll(async () => {
  await app?.close()
  await server?.close()
})

type Wanted = { scope?: string; resource?: string; DPoP?: openid.DPoPHandle }

/** The code flow, with PKCE and a resource indicator. */
async function newToken({ scope = 'reports.read', resource = RESOURCE, DPoP }: Wanted = {}): Promise<string> {
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const address = openid.buildAuthorizationUrl(configuration, {
    redirect_uri: client.redirectUri,
    scope,
    resource,
    code_challenge_method: 'S256',
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier)
  })
  const { url } = await createHttpBrowser(server.issuer).open(address)
  const checks = { pkceCodeVerifier }
  const options = DPoP && { DPoP }
  return (await openid.authorizationCodeGrant(configuration, url, checks, { resource }, options)).access_token
}

async function get(accessToken: string) {
  const response = await app.inject({ url: '/reports', headers: { authorization: `Bearer ${accessToken}` } })
  return { status: response.statusCode, challenge: String(response.headers['www-authenticate']), body: response.json() }
}

test('a token of oidc-provider is accepted, and its claims are available (RFC 7662 §2.2)', async () => {
  const { status, body } = await get(await newToken())
  expect(status).toBe(200)
  expect(body).toMatchObject({ scope: ['reports.read'], audience: [RESOURCE], subject: 'alice', clientId: client.id })
})

/** Calls the API as the client library does, with its proof and the public URL of the API. */
async function getWithProof(accessToken: string, DPoP: openid.DPoPHandle) {
  const client = await openid.discovery(new URL(server.issuer), 'printer', undefined, undefined, {
    execute: [openid.allowInsecureRequests]
  })
  client[openid.customFetch] = async (url, { method, headers }) => {
    const { pathname, search } = new URL(url)
    const sent = { method: method as 'GET', url: pathname + search, headers: Object.fromEntries(new Headers(headers)) }
    const response = await app.inject(sent)
    const challenge = { 'www-authenticate': String(response.headers['www-authenticate']) }
    return new Response(response.body, {
      status: response.statusCode,
      headers: response.statusCode === 401 ? challenge : {}
    })
  }
  const url = new URL(`${RESOURCE}/reports`)
  return openid.fetchProtectedResource(client, accessToken, url, 'GET', undefined, undefined, { DPoP })
}

test('a token that oidc-provider bound to a key is accepted with the proofs of openid-client, and only with them (RFC 9449)', async () => {
  const keys = await openid.randomDPoPKeyPair('ES256')
  const DPoP = openid.getDPoPHandle(configuration, keys)
  const token = await newToken({ DPoP })
  for (const _time of [1, 2]) {
    const response = await getWithProof(token, DPoP)
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ subject: 'alice' })])
  }
  expect(await get(token)).toMatchObject({
    status: 401,
    challenge: expect.stringMatching(/^Bearer .*error="invalid_token".*DPoP /)
  })
  const other = openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair('EdDSA'))
  await expect(getWithProof(token, other)).rejects.toMatchObject({ status: 401 })
  await openid.tokenRevocation(configuration, token)
  await expect(getWithProof(token, DPoP)).rejects.toMatchObject({ status: 401 })
})

test('a revoked token is refused (RFC 7009)', async () => {
  const token = await newToken()
  expect((await get(token)).status).toBe(200)
  await openid.tokenRevocation(configuration, token)
  expect(await get(token)).toMatchObject({ status: 401, challenge: expect.stringContaining('error="invalid_token"') })
})

test('an active token for another resource is refused (RFC 8707)', async () => {
  const token = await newToken({ resource: OTHER_RESOURCE })
  expect(await get(token)).toMatchObject({ status: 401, challenge: expect.stringContaining('error="invalid_token"') })
})

test('a token with another scope is refused: 403 (RFC 6750 §3.1)', async () => {
  const token = await newToken({ scope: 'reports.write' })
  expect(await get(token)).toMatchObject({ status: 403, challenge: expect.stringContaining('scope="reports.read"') })
})

test('an API whose clock is ahead accepts a token that is active by the Date header of the introspection response', async () => {
  const token = await newToken()
  now = new Date(Date.now() + 600_000)
  expect((await get(token)).status).toBe(200)
  now = new Date()
  expect((await get(token)).status).toBe(200)
})

test('a token that the server never issued is refused', async () => {
  expect((await get('made-up')).status).toBe(401)
})
