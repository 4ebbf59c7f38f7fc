import { readTokenRequest, requireSingleParameters, type TokenResponse } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import {
  authenticateClient,
  type ClientAuthenticationDeps
} from '../../platform/client-authentication/authenticate-client.js'
import { formOf } from '../../platform/request-parts.js'
import { type RedeemDeps, redeemCode } from './redeem-code.js'
import { type RefreshDeps, redeemRefreshToken } from './redeem-refresh-token.js'

const TOKEN_RESPONSE = {
  type: 'object',
  required: ['access_token', 'token_type', 'expires_in', 'scope'],
  properties: {
    access_token: { type: 'string' },
    token_type: { type: 'string', enum: ['Bearer', 'DPoP'] },
    expires_in: { type: 'integer', description: 'seconds' },
    scope: { type: 'string' },
    refresh_token: { type: 'string' },
    authorization_expires_in: { type: 'integer', description: 'seconds' },
    refresh_token_timeout: { type: 'integer', description: 'seconds' }
  }
}

const TOKEN_PATH = '/token'

/** `POST /token` (RFC 6749 §3.2): form in, JSON out. */
export const tokenRoutes: FastifyPluginAsync<ClientAuthenticationDeps & RedeemDeps & RefreshDeps> = async (
  oauth,
  deps
) => {
  oauth.post(
    TOKEN_PATH,
    { schema: { response: { 200: TOKEN_RESPONSE } } },
    async (request, reply): Promise<TokenResponse> => {
      const form = formOf(request)
      requireSingleParameters(form)
      // The client is authenticated before the code or token is read: an unauthenticated caller learns nothing about it (RFC
      // 6749 §3.2.1).
      const client = await authenticateClient(request, deps)
      const proof = deps.senderConstraint?.verify(request, reply, TOKEN_PATH, client)
      const tokenRequest = readTokenRequest(form, client, proof && (await proof))
      reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
      switch (tokenRequest.grantType) {
        case 'authorization_code':
          return redeemCode(tokenRequest, client, deps, request, reply.raw)
        case 'refresh_token':
          return redeemRefreshToken(tokenRequest, client, deps, request)
      }
    }
  )
}
