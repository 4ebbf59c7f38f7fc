import {
  type Claims,
  FRESH_SIGN_IN_SECONDS,
  type ProviderFailure,
  type ProviderSettings,
  problemOfSubject,
  providerFailure
} from '@valetkey/sign-in-rules'
import { type JWTPayload, jwtVerify } from 'jose'
import { ALGORITHMS } from './algorithms.js'
import type { ProviderKeys } from './provider-keys.js'

export type IdTokenClaims = Claims & { sub: string; iat: number; auth_time: number | undefined }

export type VerifiedIdToken = { kind: 'verified'; claims: IdTokenClaims } | { kind: 'failed'; failure: ProviderFailure }

/** `confirms`: the user must have signed in at the provider just now. */
export type ExpectedIdToken = { nonce: string; confirms: boolean }

const TOLERANCE_SECONDS = 30

/**
 * Verifies an ID token with its signature (OpenID Connect Core 1.0 §3.1.3.7). The library of the other requests is not used for
 * it: that one refuses `auth_time` as text, which some providers send.
 * @throws an error of jose, and an error of the request for the keys
 */
export async function verifyIdToken(
  token: string,
  findKeys: ProviderKeys,
  { issuer, clientId }: ProviderSettings,
  expected: ExpectedIdToken
): Promise<VerifiedIdToken> {
  const { payload } = await jwtVerify(token, await findKeys(), {
    issuer,
    audience: clientId,
    algorithms: [...ALGORITHMS],
    requiredClaims: ['sub', 'iat', 'exp', 'nonce'],
    clockTolerance: TOLERANCE_SECONDS
  })
  const claims = { ...payload, sub: payload.sub ?? '', iat: Number(payload.iat), auth_time: readAuthTime(payload) }
  const now = Date.now() / 1000
  const refused = refuseClaims(claims, clientId, expected.nonce, now)
  if (refused !== undefined) return { kind: 'failed', failure: providerFailure('misconfigured', refused) }
  const oldest = now - FRESH_SIGN_IN_SECONDS - TOLERANCE_SECONDS
  const isConfirmed = claims.auth_time !== undefined && claims.auth_time >= oldest
  if (expected.confirms && !isConfirmed) {
    return { kind: 'failed', failure: providerFailure('not_confirmed', 'not_confirmed') }
  }
  return { kind: 'verified', claims }
}

/** Seconds since 1970, as a number or as text. Optional: what cannot be read is missing. */
function readAuthTime({ auth_time: given }: JWTPayload): number | undefined {
  const seconds = typeof given === 'string' && /^\d{1,12}(\.\d{1,9})?$/.test(given) ? Number(given) : given
  return typeof seconds === 'number' && seconds >= 0 ? seconds : undefined
}

/** Rules of Core §2 and §3.1.3.7 that jose does not check. Postgres would store two subjects with lone surrogates as one. */
function refuseClaims(
  { sub, iat, auth_time: authTime, aud, azp, nonce }: IdTokenClaims,
  clientId: string,
  expectedNonce: string,
  now: number
): string | undefined {
  if (nonce !== expectedNonce) return 'wrong_nonce'
  if (Array.isArray(aud) && aud.length > 1 && azp === undefined) return 'wrong_aud'
  if (azp !== undefined && azp !== clientId) return 'wrong_azp'
  if (problemOfSubject(sub) !== undefined) return 'wrong_sub'
  const latest = now + TOLERANCE_SECONDS
  // This also refuses what is no number.
  if (!(iat <= latest)) return 'wrong_iat'
  return authTime !== undefined && authTime > latest ? 'wrong_auth_time' : undefined
}
