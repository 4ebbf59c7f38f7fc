import { readBearerCredentials, readDpopCredentials } from '@valetkey/oauth-protocol'
import type { Guard } from './guard/guard.js'
import type { AccessToken } from './guard/validate-token-and-scope.js'

/** `AuthInfo` of the MCP SDK, versions 1 and 2. */
export type AuthInfo = {
  token: string
  clientId: string
  scopes: string[]
  /** The time in seconds. */
  expiresAt?: number
  resource?: URL
  extra?: Record<string, unknown>
}

/** @param token as sent; an MCP server must not pass it on to other APIs */
export function toAuthInfo(accessToken: AccessToken, token: string): AuthInfo {
  const { clientId = '', scope, expiresAt, audience, subject, grantId } = accessToken
  const { authenticatedAt, authorizationDetails } = accessToken
  const [resource, ...others] = audience
  return {
    token,
    clientId,
    scopes: [...scope],
    ...(expiresAt && { expiresAt: Math.floor(expiresAt.getTime() / 1000) }),
    ...(resource !== undefined && others.length === 0 && URL.canParse(resource) && { resource: new URL(resource) }),
    extra: {
      subject,
      grantId,
      ...(authenticatedAt && { authenticatedAt }),
      ...(authorizationDetails && { authorizationDetails })
    }
  }
}

/** The token of a request of `node:http`, Express or Fastify, or of a web request, also of the scheme DPoP. '' without one. */
export function bearerTokenOf({ headers }: { headers: Headers | { authorization?: string | undefined } }): string {
  const authorization = headers instanceof Headers ? headers.get('authorization') : headers.authorization
  const bearer = readBearerCredentials([authorization ?? ''])
  const credentials = bearer.kind === 'other_scheme' ? readDpopCredentials(authorization ?? '') : bearer
  return credentials.kind === 'token' ? credentials.accessToken : ''
}

/**
 * An `OAuthTokenVerifier` for the SDK's `requireBearerAuth`. Second choice: the SDK responds to an outage with 500, where
 * the adapters respond with 503, and it refuses tokens without an expiry. Required scopes are the SDK's `requiredScopes`: an
 * error of the verifier would be 401, and the client would not ask for more. It sees no proof, so it accepts bearer tokens only.
 * @param invalidToken makes the SDK's error: `(message) => new InvalidTokenError(message)` (version 1),
 * `(message) => new OAuthError(OAuthErrorCode.InvalidToken, message)` (version 2)
 */
export function tokenVerifier(guard: Guard, invalidToken: (message: string) => Error) {
  return {
    async verifyAccessToken(token: string): Promise<AuthInfo> {
      const rawHeaders = ['authorization', `Bearer ${token}`]
      const outcome = await guard.check({ method: 'POST', url: '/', rawHeaders })
      switch (outcome.kind) {
        case 'accepted':
          return toAuthInfo(outcome.accessToken, token)
        case 'refused':
          throw invalidToken(outcome.problem.detail)
        case 'unavailable':
          throw new Error(outcome.problem.detail)
        default:
          return outcome satisfies never
      }
    }
  }
}
