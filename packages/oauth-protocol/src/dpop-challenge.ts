import { BEARER_ERROR_STATUS, type BearerErrorCode } from './bearer-challenge.js'
import { type ChallengeParameters, formatChallenge } from './challenge.js'
import { DPOP_ALGORITHMS } from './dpop-algorithms.js'

/** The error codes of a resource server that accepts DPoP (RFC 9449 §7.1, §9). */
export type DpopErrorCode = BearerErrorCode | 'invalid_dpop_proof' | 'use_dpop_nonce'

export const DPOP_ERROR_STATUS: Readonly<Record<DpopErrorCode, number>> = {
  ...BEARER_ERROR_STATUS,
  invalid_dpop_proof: 401,
  use_dpop_nonce: 401
}

/** The value of `WWW-Authenticate` (RFC 9449 §7.1). */
export function dpopChallenge(challenge: ChallengeParameters<DpopErrorCode>): string {
  return formatChallenge('DPoP', challenge, [['algs', DPOP_ALGORITHMS.join(' ')]])
}
