import { formatScope } from './scope.js'

/** What a user chose at an API, which made the identifier (RFC 9396 §2). */
type ChosenDetail = { type: string; identifier: string }

/** A live access token with the data of its grant. */
export type ActiveAccessToken = {
  tokenId: string
  grantId: string
  clientId: string
  userId: string
  scope: readonly string[]
  audience: string
  issuedAt: Date
  expiresAt: Date
  /** The thumbprint of the key that the token is bound to; undefined: a bearer token. */
  jkt?: string | undefined
  /** When the user signed in for the grant. Absent unless the API asks for it, and the way to sign in says it. */
  authenticatedAt?: Date
  /** What the user chose at the API (RFC 9396). Absent unless the scope has one that selects. */
  authorizationDetails?: readonly ChosenDetail[]
}

/** RFC 7662 §2.2, with the extension `grant_id` that revocation events refer to. */
export type IntrospectionResponse =
  | { active: false }
  | {
      active: true
      scope: string
      client_id: string
      sub: string
      iss: string
      aud: string
      iat: number
      exp: number
      jti: string
      token_type: 'Bearer' | 'DPoP'
      grant_id: string
      /** Of a bound token (RFC 9449 §6.2). */
      cnf?: { jkt: string }
      /** RFC 9470 §6.2, in seconds. */
      auth_time?: number
      /** RFC 9396 §9.2 */
      authorization_details?: readonly ChosenDetail[]
    }

/**
 * Exactly `{"active":false}` for everything except a live token of the caller's audience, so that the response does not show
 * why a token is inactive (RFC 7662 §2.2, §4).
 */
export function introspectionResponse(
  token: ActiveAccessToken | undefined,
  caller: { audience: string; issuer: string }
): IntrospectionResponse {
  if (token === undefined || token.audience !== caller.audience) return { active: false }
  const { jkt, authorizationDetails } = token
  return {
    active: true,
    scope: formatScope(token.scope),
    client_id: token.clientId,
    sub: token.userId,
    iss: caller.issuer,
    aud: token.audience,
    iat: Math.floor(token.issuedAt.getTime() / 1000),
    exp: Math.floor(token.expiresAt.getTime() / 1000),
    jti: token.tokenId,
    token_type: jkt === undefined ? 'Bearer' : 'DPoP',
    grant_id: token.grantId,
    ...(jkt !== undefined && { cnf: { jkt } }),
    ...(token.authenticatedAt && { auth_time: Math.floor(token.authenticatedAt.getTime() / 1000) }),
    // Member by member: the summary is for the user.
    ...(authorizationDetails && {
      authorization_details: authorizationDetails.map(({ type, identifier }) => ({ type, identifier }))
    })
  }
}
