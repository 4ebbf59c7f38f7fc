import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth as requireBearerAuth1 } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { OAuthError, OAuthErrorCode, requireBearerAuth } from '@modelcontextprotocol/server'
import express from 'express'
import { createGuard, type Guard } from '../src/index.js'
import { bearerTokenOf, toAuthInfo, tokenVerifier } from '../src/mcp.js'
import { json, raw, startFakeEndpoint } from './fake-introspection-endpoint.js'

const RESOURCE = 'https://api.example/mcp'
const live = {
  active: true,
  aud: RESOURCE,
  scope: 'tools.read tools.write',
  client_id: 'assistant',
  sub: 'alice-id',
  grant_id: 'grant-1',
  exp: Math.floor(Date.now() / 1000) + 3600
}
const AUTH_INFO = {
  token: 'abc',
  clientId: 'assistant',
  scopes: ['tools.read', 'tools.write'],
  expiresAt: live.exp,
  resource: new URL(RESOURCE),
  extra: { subject: 'alice-id', grantId: 'grant-1' }
}

let endpoint: Awaited<ReturnType<typeof startFakeEndpoint>>
let guard: Guard
beforeAll(async () => {
  endpoint = await startFakeEndpoint()
  guard = createGuard({
    issuer: 'https://auth.example',
    resource: RESOURCE,
    scopesSupported: ['tools.read'],
    tokenFormat: 'any',
    introspection: { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  })
})
afterAll(async () => {
  await guard.close()
  await endpoint.close()
})

const request = (token = 'abc') =>
  new Request(RESOURCE, { method: 'POST', headers: { authorization: `Bearer ${token}` } })

const ANSWERS = [
  { name: 'a valid token', answer: json(live), status: 200 },
  { name: 'a token that is not active', answer: json({ active: false }), status: 401 },
  { name: 'a token for another audience', answer: json({ ...live, aud: 'https://other.example' }), status: 401 },
  { name: 'an outage', answer: raw(500, ''), status: 500 }
]

test.each(ANSWERS)(
  "requireBearerAuth of SDK 2 with the guard's verifier, $name: $status",
  async ({ answer, status }) => {
    endpoint.answers(answer)
    const invalidToken = (message: string) => new OAuthError(OAuthErrorCode.InvalidToken, message)
    const gate = requireBearerAuth({
      verifier: tokenVerifier(guard, invalidToken),
      expectedResource: new URL(RESOURCE)
    })
    const result = await gate(request())
    if (result instanceof Response) expect(result.status).toBe(status)
    else expect([result, status]).toEqual([expect.objectContaining(AUTH_INFO), 200])
  }
)

test.each(ANSWERS)(
  "requireBearerAuth of SDK 1 with the guard's verifier, $name: $status",
  async ({ answer, status }) => {
    endpoint.answers(answer)
    const app = express()
    app.use(requireBearerAuth1({ verifier: tokenVerifier(guard, (message) => new InvalidTokenError(message)) }))
    app.use((incoming, response) => void response.json(incoming.auth))
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { headers: { authorization: 'Bearer abc' } })
    expect(response.status).toBe(status)
    if (status === 200) expect(await response.json()).toEqual(JSON.parse(JSON.stringify(AUTH_INFO)))
    await new Promise((resolve) => server.close(resolve))
  }
)

test("too little scope is the SDK's 403 with the required scopes, and the verifier itself takes none", async () => {
  endpoint.answers(json(live))
  const invalidToken = (message: string) => new OAuthError(OAuthErrorCode.InvalidToken, message)
  const gate = requireBearerAuth({
    verifier: tokenVerifier(guard, invalidToken),
    requiredScopes: ['tools.admin'],
    expectedResource: new URL(RESOURCE)
  })
  const result = await gate(request())
  if (!(result instanceof Response)) throw new Error('a token of too little scope was accepted')
  expect([result.status, result.headers.get('www-authenticate')]).toEqual([
    403,
    expect.stringMatching(/insufficient_scope.*tools\.admin/)
  ])
  expect(tokenVerifier).toHaveLength(2)
})

test('toAuthInfo leaves out what the token does not have', () => {
  const unknown = { subject: undefined, clientId: undefined, expiresAt: undefined, jti: undefined, grantId: undefined }
  const info = toAuthInfo({ ...unknown, scope: new Set(['a']), audience: [RESOURCE, 'https://other.example'] }, 'abc')
  expect(info).toEqual({ token: 'abc', clientId: '', scopes: ['a'], extra: {} })
  expect(Object.keys(info).sort()).toEqual(['clientId', 'extra', 'scopes', 'token'])
})

test.each([
  { name: 'a web request', from: request('abc'), token: 'abc' },
  { name: 'a request of node:http', from: { headers: { authorization: 'bearer  abc' } }, token: 'abc' },
  { name: 'a request with a proof', from: { headers: { authorization: 'DPoP abc' } }, token: 'abc' },
  { name: 'a request without a token', from: { headers: {} }, token: '' },
  { name: 'another scheme', from: { headers: { authorization: 'Basic abc' } }, token: '' }
])('bearerTokenOf $name: "$token"', ({ from, token }) => {
  expect(bearerTokenOf(from)).toBe(token)
})

test('AuthInfo has the time of the sign-in, if the authorization server says it', async () => {
  endpoint.answers(json({ ...live, auth_time: 1_700_000_000 }))
  const outcome = await guard.check({ method: 'POST', url: '/mcp', rawHeaders: ['authorization', 'Bearer abc'] })
  const info = outcome.kind === 'accepted' ? toAuthInfo(outcome.accessToken, 'abc') : undefined
  expect(info).toEqual({
    ...AUTH_INFO,
    extra: { ...AUTH_INFO.extra, authenticatedAt: new Date(1_700_000_000_000) }
  })
})

test('AuthInfo has what the user chose', async () => {
  const details = [{ type: 'files', identifier: 'a' }]
  endpoint.answers(json({ ...live, authorization_details: details }))
  const introspection = { url: endpoint.url, clientId: 'rs', clientSecret: 'secret' }
  const options = {
    issuer: 'https://auth.example',
    resource: RESOURCE,
    scopesSupported: [],
    tokenFormat: 'any',
    introspection
  } as const
  const choosing = createGuard({ ...options, introspection, authorizationDetailTypes: ['files'] })
  const outcome = await choosing.check({ method: 'POST', url: '/mcp', rawHeaders: ['authorization', 'Bearer abc'] })
  await choosing.close()
  const info = outcome.kind === 'accepted' ? toAuthInfo(outcome.accessToken, 'abc') : undefined
  expect(info?.extra).toMatchObject({ authorizationDetails: details })
})
