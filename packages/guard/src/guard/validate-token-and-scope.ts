import { isSameResource } from '@valetkey/oauth-protocol'
import type { ActiveResult, IntrospectionResult } from '../introspection/introspection-result.js'

/** The token of an accepted request. */
export type AccessToken = {
  scope: ReadonlySet<string>
  audience: readonly string[]
  /** The user's id at the authorization server; undefined for a token without a user. */
  subject: string | undefined
  clientId: string | undefined
  expiresAt: Date | undefined
  jti: string | undefined
  grantId: string | undefined
}

/** One of several scopes is sufficient. */
export type AnyOfScopes = {
  anyOf: readonly string[]
  /** The scope that challenges name. Default: the first of the list. */
  challengeScope?: string
}

/** The scope that a route requires: all scopes of a list, or one of several. */
export type ScopeRequirement = readonly string[] | AnyOfScopes

/** Arguments of `requireAccessToken`: none for any valid token, several that are all required, or one of several. */
export type Scopes = string[] | [AnyOfScopes]

/** Why a token is refused. Only the log has it; the client gets the same response for all (RFC 6750 §3.1). */
type InvalidTokenReason =
  | 'not_active'
  | 'other_type'
  | 'sender_constrained'
  | 'expired'
  | 'other_audience'
  | 'other_issuer'

export type TokenValidation =
  | { kind: 'accepted'; accessToken: AccessToken }
  | { kind: 'invalid_token'; reason: InvalidTokenReason; jti: string | undefined }
  | { kind: 'insufficient_scope'; jti: string | undefined }

/** What an introspection result must say for this resource. */
export type Expected = {
  issuer: string
  resource: string
  isAudienceRequired: boolean
}

/** Decides about a token by its introspection result, whether the result is new or cached. */
export function validateTokenAndScope(
  result: IntrospectionResult,
  expected: Expected,
  requirement: ScopeRequirement,
  now: Date
): TokenValidation {
  if (!result.active) return { kind: 'invalid_token', reason: 'not_active', jti: undefined }
  const { scope, audience, subject, clientId, expiresAt, tokenId: jti, grantId } = result
  const reason = findFault(result, expected, now)
  if (reason !== undefined) return { kind: 'invalid_token', reason, jti }
  // Last: only a client with a valid token may learn which scope is missing.
  if (!isSufficient(scope, requirement)) return { kind: 'insufficient_scope', jti }
  return { kind: 'accepted', accessToken: { scope, audience, subject, clientId, expiresAt, jti, grantId } }
}

function findFault(
  result: ActiveResult,
  { issuer, resource, isAudienceRequired }: Expected,
  now: Date
): InvalidTokenReason | undefined {
  // A sender-constrained token is only valid with a proof of possession, which the Bearer scheme cannot carry.
  if (result.tokenType !== undefined && result.tokenType.toLowerCase() !== 'bearer') return 'other_type'
  if (result.isSenderConstrained) return 'sender_constrained'
  // Expired only if both clocks agree, because either may be wrong. The introspector limits the age of cached results.
  const present = result.respondedAt !== undefined && result.respondedAt < now ? result.respondedAt : now
  if (result.expiresAt !== undefined && result.expiresAt <= present) return 'expired'
  // Without an audience, the token may have been issued for another API (RFC 9700 §2.3).
  const mayBeMissing = result.audience.length === 0 && !isAudienceRequired
  if (!mayBeMissing && !result.audience.some((audience) => isSameResource(audience, resource))) return 'other_audience'
  if (result.issuer !== undefined && result.issuer !== issuer) return 'other_issuer'
  return undefined
}

function isSufficient(scope: ReadonlySet<string>, requirement: ScopeRequirement): boolean {
  return 'anyOf' in requirement
    ? requirement.anyOf.some((token) => scope.has(token))
    : requirement.every((token) => scope.has(token))
}

/** `scope` of the challenge: the scope that a client has to request (RFC 6750 §3). */
export function challengeScope(requirement: ScopeRequirement): string | undefined {
  const scope = 'anyOf' in requirement ? (requirement.challengeScope ?? requirement.anyOf[0]) : requirement.join(' ')
  return scope || undefined
}

/** A list of scopes, as routes give it, as a requirement. */
export function requirementOf(scopes: Scopes): ScopeRequirement {
  const [first] = scopes
  return typeof first === 'object' ? first : (scopes as string[])
}
