import {
  evaluateLogoutToken,
  type LogoutOutcome,
  type LogoutRefusal,
  type ProviderSettings
} from '@valetkey/sign-in-rules'
import { errors, type JWTVerifyResult, jwtVerify } from 'jose'
import { ALGORITHMS } from './algorithms.js'
import type { ProviderKeys } from './provider-keys.js'

export type VerifiedLogout =
  | Exclude<LogoutOutcome, { kind: 'refused' }>
  | { kind: 'refused'; reason: LogoutRefusal | 'invalid_token' }
  /** The keys of the provider cannot be read now. */
  | { kind: 'unavailable'; error: unknown }

const MAX_AGE_SECONDS = 120
const TOLERANCE_SECONDS = 30

/** Verifies logout tokens of one provider (OpenID Connect Back-Channel Logout 1.0 §2.6). */
export function createLogoutVerifier(findKeys: ProviderKeys, { issuer, clientId }: ProviderSettings) {
  return async (token: string): Promise<VerifiedLogout> => {
    try {
      const { protectedHeader, payload }: JWTVerifyResult = await jwtVerify(token, await findKeys(), {
        issuer,
        audience: clientId,
        algorithms: [...ALGORITHMS],
        requiredClaims: ['jti', 'iat', 'exp'],
        maxTokenAge: MAX_AGE_SECONDS,
        clockTolerance: TOLERANCE_SECONDS
      })
      return evaluateLogoutToken(protectedHeader.typ, payload)
    } catch (error) {
      // Every other error is an outage, and the provider may send the token again.
      const isRefusal = error instanceof errors.JOSEError && !OUTAGES.includes(error.code)
      return isRefusal ? { kind: 'refused', reason: 'invalid_token' } : { kind: 'unavailable', error }
    }
  }
}

/** A timeout, and a key set that cannot be read: jose uses the general code for a wrong status. */
const OUTAGES: readonly string[] = [errors.JWKSTimeout.code, errors.JOSEError.code, errors.JWKSInvalid.code]
