import { type ChallengeParameters, formatChallenge } from './challenge.js'

/** The error codes of a resource server (RFC 6750 §3.1, RFC 9470 §3). */
export type BearerErrorCode =
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_user_authentication'
  | 'insufficient_scope'

export const BEARER_ERROR_STATUS: Readonly<Record<BearerErrorCode, number>> = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_user_authentication: 401,
  insufficient_scope: 403
}

export type BearerChallenge = ChallengeParameters<BearerErrorCode>

/** The value of `WWW-Authenticate` (RFC 6750 §3, RFC 9110 §11.6.1). */
export function bearerChallenge(challenge: BearerChallenge): string {
  return formatChallenge('Bearer', challenge)
}
