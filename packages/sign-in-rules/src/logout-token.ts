import { type Claims, isObject, ownClaim } from './claims.js'

/** The sessions that a logout token ends (OpenID Connect Back-Channel Logout 1.0 §2.6). */
export type LogoutOutcome =
  | {
      kind: 'accepted'
      jti: string
      /** Seconds since 1970. */
      issuedAt: number
      expiresAt: number
      /** One session at the provider, or all sessions of the identity. */
      ends: { sid: string } | { subject: string }
    }
  | { kind: 'refused'; reason: LogoutRefusal }

export type LogoutRefusal =
  | 'wrong_typ'
  | 'wrong_jti'
  | 'wrong_events'
  | 'nonce_present'
  | 'wrong_time'
  | 'no_sub_or_sid'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const TYPES: readonly unknown[] = [undefined, 'logout+jwt', 'application/logout+jwt']
const MAX_LENGTH = 255

/** Evaluates a logout token whose signature, `iss`, `aud`, `iat` and `exp` are verified. */
export function evaluateLogoutToken(typ: unknown, claims: Claims): LogoutOutcome {
  const refuse = (reason: LogoutRefusal): LogoutOutcome => ({ kind: 'refused', reason })
  if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ)) return refuse('wrong_typ')
  // An ID token must not be accepted in place of a logout token.
  if (Object.hasOwn(claims, 'nonce')) return refuse('nonce_present')
  const events = ownClaim(claims, 'events')
  if (!isObject(events) || !isObject(ownClaim(events, EVENT))) return refuse('wrong_events')
  const [jti, sid, subject] = ['jti', 'sid', 'sub'].map((name) => ownClaim(claims, name))
  const [issuedAt, expiresAt] = ['iat', 'exp'].map((name) => ownClaim(claims, name))
  if (!isText(jti)) return refuse('wrong_jti')
  if (typeof issuedAt !== 'number' || typeof expiresAt !== 'number') return refuse('wrong_time')
  const accepted = { kind: 'accepted', jti, issuedAt, expiresAt } as const
  if (sid !== undefined) return isText(sid) ? { ...accepted, ends: { sid } } : refuse('no_sub_or_sid')
  return isText(subject) ? { ...accepted, ends: { subject } } : refuse('no_sub_or_sid')
}

/** The session id of an ID token. @returns undefined for none, and for one that no logout token may name */
export function readSessionId(claims: Claims): string | undefined {
  const sid = ownClaim(claims, 'sid')
  return isText(sid) ? sid : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH
}
