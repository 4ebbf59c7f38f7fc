import type { ActiveAnswer, IntrospectionAnswer } from '../introspection/introspection-answer.js'

/** Who a request may act for, once its token was found good. */
export type AccessToken = {
  scope: ReadonlySet<string>
  audience: readonly string[]
  /** The user's id at the authorization server; undefined where no user stands behind the token. */
  subject: string | undefined
  clientId: string | undefined
  expiresAt: Date | undefined
  jti: string | undefined
  grantId: string | undefined
}

/** Why a token is refused: for the log. The caller hears the same of all of them (RFC 6750 §3.1). */
export type RefusalReason =
  | 'not_active'
  | 'other_type'
  | 'sender_constrained'
  | 'expired'
  | 'other_audience'
  | 'other_issuer'

export type TokenValidation =
  | { kind: 'accepted'; accessToken: AccessToken }
  | { kind: 'refused'; reason: RefusalReason; jti: string | undefined }

/** What a token must say of itself to be good here. */
export type Expected = { issuer: string; resource: string; isAudienceRequired: boolean }

/** Decides whether an answer makes the token good for this resource, now. Holds for a fresh answer and a kept one. */
export function validateToken(answer: IntrospectionAnswer, expected: Expected, now: Date): TokenValidation {
  if (!answer.active) return { kind: 'refused', reason: 'not_active', jti: undefined }
  const reason = findFault(answer, expected, now)
  if (reason !== undefined) return { kind: 'refused', reason, jti: answer.tokenId }
  const { scope, audience, subject, clientId, expiresAt, tokenId, grantId } = answer
  return { kind: 'accepted', accessToken: { scope, audience, subject, clientId, expiresAt, jti: tokenId, grantId } }
}

function findFault(
  answer: ActiveAnswer,
  { issuer, resource, isAudienceRequired }: Expected,
  now: Date
): RefusalReason | undefined {
  // A token that must come with a proof is worth nothing without one: Bearer would make a stolen one useful.
  if (answer.tokenType !== undefined && answer.tokenType.toLowerCase() !== 'bearer') return 'other_type'
  if (answer.isSenderConstrained) return 'sender_constrained'
  // `active` was true when the server looked. Only where its clock and ours agree is it wrong about its own token; how long a
  // kept answer holds is the introspector's business.
  const present = answer.answeredAt !== undefined && answer.answeredAt < now ? answer.answeredAt : now
  if (answer.expiresAt !== undefined && answer.expiresAt <= present) return 'expired'
  // A server that names no audience cannot tell us that the token was meant for us (RFC 9700 §2.3).
  const isUnnamed = answer.audience.length === 0 && !isAudienceRequired
  if (!isUnnamed && !answer.audience.includes(resource)) return 'other_audience'
  if (answer.issuer !== undefined && answer.issuer !== issuer) return 'other_issuer'
  return undefined
}
