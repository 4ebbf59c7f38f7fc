import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll } from '@jest/globals'
import { expiryBucket, newOpaqueAccessToken } from '@valetkey/oauth-protocol'
import { type FastifyInstance, fastify } from 'fastify'
import { bearerPlugin } from '../src/fastify/index.js'
import type { GuardOptions } from '../src/index.js'
import { type FakeEndpoint, startFakeEndpoint } from './fake-introspection-endpoint.js'

export const ISSUER = 'https://auth.example'
export const RESOURCE = 'https://files.example'
export const token = newOpaqueAccessToken(expiryBucket(new Date(Date.now() + 3_600_000)), randomBytes)
export const bearer = `Bearer ${token}`
export const inOneHour = Math.floor(Date.now() / 1000) + 3600
/** The introspection response for `token`. */
export const live = {
  active: true,
  scope: 'files.read profile',
  client_id: 'printer',
  sub: 'alice-id',
  iss: ISSUER,
  aud: RESOURCE,
  exp: inOneHour,
  iat: inOneHour - 3600,
  jti: 'token-1',
  token_type: 'Bearer',
  grant_id: 'grant-1'
}

export type GuardedApi = { app: FastifyInstance; endpoint: FakeEndpoint }

/** Starts an endpoint and an API before the tests of a file, and closes them afterwards. */
export function useGuardedApi(): GuardedApi {
  const api = {} as GuardedApi
  beforeAll(async () => {
    api.endpoint = await startFakeEndpoint()
    api.app = await buildApi(api.endpoint.url)
  })
  afterAll(async () => {
    await api.app.close()
    await api.endpoint.close()
  })
  return api
}

/**
 * An API with three routes: one of two scopes required, both required, and no guard.
 * @param timeoutMs for an endpoint that does not respond; without it, a slow machine causes no timeout
 */
export async function buildApi(
  url: string,
  options: Partial<GuardOptions> = {},
  timeoutMs = 60_000
): Promise<FastifyInstance> {
  const server = fastify()
  await server.register(bearerPlugin, {
    issuer: ISSUER,
    resource: RESOURCE,
    realm: 'files',
    scopesSupported: ['files.read'],
    introspection: { url, clientId: 'rs', clientSecret: 'rs secret', timeoutMs },
    ...options
  })
  const anyOf = { anyOf: ['files.read', 'files.read:images'], challengeScope: 'files.read' }
  server.get('/files', { onRequest: server.requireAccessToken(anyOf) }, async ({ accessToken }) => ({
    ...accessToken,
    scope: [...accessToken.scope]
  }))
  server.get('/both', { onRequest: server.requireAccessToken('files.read', 'files.share') }, async () => ({}))
  server.get('/open', async ({ accessToken }) => accessToken.subject)
  return server
}
