import { isSameResource } from '@valetkey/oauth-protocol'
import type { AuthorizationDetail } from '../introspection/authorization-details.js'
import type { ActiveResult, IntrospectionResult } from '../introspection/introspection-result.js'
import { isRecent, mustBeMaxAge } from './authentication-age.js'

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
  /** When the user signed in for this token (`auth_time`). Absent if the authorization server does not say it. */
  authenticatedAt?: Date
  /** Of the key whose proof the request had (RFC 7638). Absent if the token is not bound to a key. */
  keyThumbprint?: string
  /** What the user chose for this token (RFC 9396), only of types that this API knows. Absent if there is nothing. */
  authorizationDetails?: readonly AuthorizationDetail[]
}

/** One of several scopes is sufficient. */
export type AnyOfScopes = {
  anyOf: readonly string[]
  /** The scope that challenges name. Default: the first of the list. */
  challengeScope?: string
  maxAge?: MaxAge
}

/** All of several scopes are required; none for any valid token. */
export type AllOfScopes = {
  allOf: readonly string[]
  maxAge?: MaxAge
}

/**
 * The user must have signed in at most so many seconds ago (RFC 9470): a whole number, and at least 60, because the way back to the
 * API takes time. Default: that of the guard.
 */
type MaxAge = number | undefined

/** The scope that a route requires: all scopes of a list, or one of several; and how recent the sign-in of the user must be. */
export type ScopeRequirement = readonly string[] | AnyOfScopes | AllOfScopes

/** Arguments of `requireAccessToken`: none for any valid token, several that are all required, or an object. */
export type Scopes = string[] | [AnyOfScopes | AllOfScopes]

/** Why a token is refused. Only the log has it; the client gets the same response for all (RFC 6750 §3.1). */
type InvalidTokenReason =
  | 'not_active'
  | 'other_type'
  | 'sender_constrained'
  | 'not_bound'
  | 'expired'
  | 'other_audience'
  | 'other_issuer'
  | 'unknown_authorization_details'

export type TokenValidation =
  | { kind: 'accepted'; accessToken: AccessToken }
  | { kind: 'invalid_token'; reason: InvalidTokenReason; jti: string | undefined }
  | { kind: Shortfall; jti: string | undefined }

/** What a valid token lacks for a request. */
type Shortfall = 'insufficient_user_authentication' | 'insufficient_scope'

/** What an introspection result must say for this resource. */
export type Expected = {
  issuer: string
  resource: string
  isAudienceRequired: boolean
  /** Of requirements that have none of their own. */
  maxAge: number | undefined
  /** The types of authorization details that the API knows. */
  authorizationDetailTypes: ReadonlySet<string>
}

/** Decides about a bearer token by its introspection result, whether the result is new or cached. */
export function validateTokenAndScope(
  result: IntrospectionResult,
  expected: Expected,
  requirement: ScopeRequirement,
  now: Date
): TokenValidation {
  if (!result.active) return { kind: 'invalid_token', reason: 'not_active', jti: undefined }
  const { tokenId: jti } = result
  const reason = findBinding(result) ?? findFault(result, expected, now)
  if (reason !== undefined) return { kind: 'invalid_token', reason, jti }
  // Last: only a client with a valid token may learn what is missing.
  const shortfall = findShortfall(result, requirement, maxAgeOf(requirement, expected), now)
  return shortfall === undefined ? { kind: 'accepted', accessToken: accessTokenOf(result) } : { kind: shortfall, jti }
}

function accessTokenOf(result: ActiveResult): AccessToken {
  const { scope, audience, subject, clientId, expiresAt, tokenId: jti, grantId } = result
  const { authenticatedAt, authorizationDetails } = result
  const accessToken: AccessToken = { scope, audience, subject, clientId, expiresAt, jti, grantId }
  if (authenticatedAt !== undefined) accessToken.authenticatedAt = authenticatedAt
  if (authorizationDetails !== undefined) accessToken.authorizationDetails = authorizationDetails
  return accessToken
}

/**
 * What the token lacks for the request. The sign-in comes first: its challenge has the scope as well, so that one authorization
 * corrects both (RFC 9470 §3); that of the scope has no `max_age`.
 */
export function findShortfall(
  result: ActiveResult,
  requirement: ScopeRequirement,
  maxAge: number | undefined,
  now: Date
): Shortfall | undefined {
  if (!isRecent(result, maxAge, now)) return 'insufficient_user_authentication'
  return isSufficient(result.scope, requirement) ? undefined : 'insufficient_scope'
}

export type BoundTokenValidation =
  /** @property thumbprint of the key whose proof the request needs. @property result for `findShortfall`, after the proof */
  | { kind: 'bound'; accessToken: AccessToken; thumbprint: string; result: ActiveResult }
  | { kind: 'invalid_token'; reason: InvalidTokenReason; jti: string | undefined }

/** Decides about a token of the scheme DPoP, apart from its proof and what a route requires (RFC 9449 §7.1). */
export function validateBoundToken(result: IntrospectionResult, expected: Expected, now: Date): BoundTokenValidation {
  if (!result.active) return { kind: 'invalid_token', reason: 'not_active', jti: undefined }
  const { tokenId: jti, keyThumbprint } = result
  const reason = findFaultInBinding(result) ?? findFault(result, expected, now)
  if (reason !== undefined || keyThumbprint === undefined)
    return { kind: 'invalid_token', reason: reason ?? 'not_bound', jti }
  const accessToken = { ...accessTokenOf(result), keyThumbprint }
  return { kind: 'bound', accessToken, thumbprint: keyThumbprint, result }
}

/** A sender-constrained token is only valid with a proof of possession, which the Bearer scheme cannot carry. */
function findBinding({ tokenType, isSenderConstrained }: ActiveResult): InvalidTokenReason | undefined {
  if (tokenType !== undefined && tokenType.toLowerCase() !== 'bearer') return 'other_type'
  return isSenderConstrained ? 'sender_constrained' : undefined
}

function findFaultInBinding(result: ActiveResult): InvalidTokenReason | undefined {
  const { tokenType, isSenderConstrained, keyThumbprint } = result
  if (!isSenderConstrained) return 'not_bound'
  if (keyThumbprint === undefined) return 'sender_constrained'
  return tokenType !== undefined && tokenType.toLowerCase() !== 'dpop' ? 'other_type' : undefined
}

function findFault(
  result: ActiveResult,
  { issuer, resource, isAudienceRequired, authorizationDetailTypes }: Expected,
  now: Date
): InvalidTokenReason | undefined {
  // Expired only if both clocks agree, because either may be wrong. The introspector limits the age of cached results.
  const present = result.respondedAt !== undefined && result.respondedAt < now ? result.respondedAt : now
  if (result.expiresAt !== undefined && result.expiresAt <= present) return 'expired'
  // Without an audience, the token may have been issued for another API (RFC 9700 §2.3).
  const mayBeMissing = result.audience.length === 0 && !isAudienceRequired
  if (!mayBeMissing && !result.audience.some((audience) => isSameResource(audience, resource))) return 'other_audience'
  if (result.issuer !== undefined && result.issuer !== issuer) return 'other_issuer'
  // A type that the API does not know may limit the access to less than the scope says (RFC 9396 §9).
  const isKnown = result.authorizationDetails?.every(({ type }) => authorizationDetailTypes.has(type)) ?? true
  return isKnown ? undefined : 'unknown_authorization_details'
}

function isSufficient(scope: ReadonlySet<string>, requirement: ScopeRequirement): boolean {
  return 'anyOf' in requirement
    ? requirement.anyOf.some((token) => scope.has(token))
    : allOf(requirement).every((token) => scope.has(token))
}

function allOf(requirement: readonly string[] | AllOfScopes): readonly string[] {
  return 'allOf' in requirement ? requirement.allOf : requirement
}

/** `max_age` of the requirement, else of the guard. */
export function maxAgeOf(requirement: ScopeRequirement, guard: { maxAge: number | undefined }): number | undefined {
  return ('maxAge' in requirement ? requirement.maxAge : undefined) ?? guard.maxAge
}

/** `scope` of the challenge: the scope that a client has to request (RFC 6750 §3). */
export function challengeScope(requirement: ScopeRequirement): string | undefined {
  const scope =
    'anyOf' in requirement ? (requirement.challengeScope ?? requirement.anyOf[0]) : allOf(requirement).join(' ')
  return scope || undefined
}

/**
 * A list of scopes, as routes give it, as a requirement.
 * @throws {TypeError} as `checkRequirement`
 */
export function requirementOf(scopes: Scopes): ScopeRequirement {
  const [first] = scopes
  return checkRequirement(typeof first === 'object' ? first : (scopes as string[]))
}

const MEMBERS = ['anyOf', 'allOf', 'challengeScope', 'maxAge']

/**
 * Users of JavaScript have no compiler for a misspelt member, and a `maxAge` that is not read would accept every token.
 * @throws {TypeError} that names the first wrong member
 */
export function checkRequirement(requirement: ScopeRequirement): ScopeRequirement {
  if (isList(requirement)) return requirement
  const unknown = Object.keys(requirement).find((member) => !MEMBERS.includes(member))
  if (unknown !== undefined) throw new TypeError(`a requirement has no member ${unknown}`)
  mustBeMaxAge(requirement.maxAge)
  return requirement
}

/** `Array.isArray` does not narrow read-only lists. */
function isList(requirement: ScopeRequirement): requirement is readonly string[] {
  return Array.isArray(requirement)
}
