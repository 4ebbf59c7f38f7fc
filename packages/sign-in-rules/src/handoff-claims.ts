import { problemOfSubject } from './identity-key.js'
import { cleanDisplayName } from './provider-names.js'

/** `typ` in the header of an assertion (RFC 8725 §3.11), so that no other JWT of the login page counts as a sign-in. */
export const HANDOFF_TYPE = 'valetkey-login+jwt'

/** The redirect with an assertion must fit into one line of an HTTP request everywhere. */
export const MOST_ASSERTION_CHARACTERS = 2048

const MOST_LIFETIME_SECONDS = 60
/** The clocks of the login page and of this server may differ by this many seconds. */
const TOLERANCE_SECONDS = 30
const MOST_ID_CHARACTERS = 255

export type HandoffClaims = {
  subject: string
  /** The request id, which names the sign-in that the browser began. */
  nonce: string
  /** When the user gave a password or the like to the login page. */
  authenticatedAt: Date
  displayName: string | undefined
}

export type HandoffOutcome =
  | { kind: 'accepted'; claims: HandoffClaims }
  /** Everything else is right, so the sign-in may start over. */
  | { kind: 'expired'; claims: HandoffClaims }
  | { kind: 'refused'; reason: string }

/**
 * Evaluates the claims of an assertion whose signature is valid (examples/login-page/README.md). Times are seconds since 1970.
 * @param expected `LOGIN_HANDOFF_ISSUER` and `ISSUER`
 */
export function evaluateHandoffClaims(
  claims: Readonly<Record<string, unknown>>,
  expected: { issuer: string; audience: string },
  now: Date
): HandoffOutcome {
  const refuse = (claim: string) => ({ kind: 'refused', reason: `wrong_${claim}` }) as const
  const { iss, aud, sub, jti, nonce, iat, exp, auth_time: authTime, name, amr } = claims
  const seconds = now.getTime() / 1000
  if (iss !== expected.issuer) return refuse('iss')
  // Another audience could send the same assertion to us.
  if (![aud].flat().every((each) => each === expected.audience) || [aud].flat().length === 0) return refuse('aud')
  if (typeof sub !== 'string' || problemOfSubject(sub) !== undefined) return refuse('sub')
  if (!isId(jti)) return refuse('jti')
  if (!isId(nonce)) return refuse('nonce')
  if (!isTime(iat) || iat > seconds + TOLERANCE_SECONDS) return refuse('iat')
  if (!isTime(exp) || exp <= iat || exp - iat > MOST_LIFETIME_SECONDS) return refuse('exp')
  if (!isTime(authTime) || authTime > seconds + TOLERANCE_SECONDS) return refuse('auth_time')
  if (name !== undefined && typeof name !== 'string') return refuse('name')
  if (amr !== undefined && !isTextList(amr)) return refuse('amr')
  // A clock that is ahead must not make a sign-in fresher than it is.
  const authenticatedAt = new Date(Math.min(authTime, seconds) * 1000)
  const accepted = { subject: sub, nonce, authenticatedAt, displayName: cleanDisplayName(name) }
  return { kind: exp > seconds - TOLERANCE_SECONDS ? 'accepted' : 'expired', claims: accepted }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MOST_ID_CHARACTERS
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
