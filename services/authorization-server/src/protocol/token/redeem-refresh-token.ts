import {
  type Client,
  hashToken,
  INVALID_GRANT,
  isWellFormed,
  lifetimesOf,
  OAuthError,
  type RandomBytes,
  type RefreshRequest,
  type TokenHash,
  type TokenKeys,
  type TokenLifetimes,
  type TokenResponse,
  withoutIgnored
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import type { ForeignRefreshTokens } from '../../platform/foreign-refresh-tokens.js'
import { TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import type { SenderConstraint } from '../../platform/sender-constraint.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { RefreshTokenRecord, RefreshTokenStore } from '../../storage/postgres/refresh-tokens.js'
import {
  evaluateRefresh,
  type RefreshError,
  type RefreshPace,
  refreshPace,
  requestedScopeKey
} from './evaluate-refresh.js'
import { keepRefreshToken } from './keep-refresh-token.js'
import { earlier, inSeconds, newAccessToken, newRefreshToken, tokenResponse } from './new-tokens.js'
import { decryptResponse, encryptResponse } from './retry-response.js'

export type RefreshDeps = {
  refreshTokens: Pick<RefreshTokenStore, 'find' | 'rotate' | 'keep'>
  grants: Pick<GrantStore, 'end'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  /** `LIMITS_FACTOR`: multiplies how often a grant may be refreshed. */
  limitsFactor: number
  /** Seconds in which the rotated token returns the same response again; 0 disables this. */
  retryWindow: number
  senderConstraint?: SenderConstraint | undefined
  foreignRefreshTokens?: ForeignRefreshTokens | undefined
  /** Whether responses say when access and refresh token end. */
  tellsEnds?: boolean | undefined
  now: () => Date
  randomBytes: RandomBytes
}

/**
 * Exchanges a refresh token for new tokens (RFC 6749 §6), for an authenticated client.
 * @throws {TooManyAttempts} when the grant was refreshed too often; the token stays valid
 */
export async function redeemRefreshToken(
  request: RefreshRequest,
  client: Client,
  deps: RefreshDeps,
  audited: AuditedRequest
): Promise<TokenResponse> {
  if (isWellFormed('refreshToken', request.refreshToken)) return redeem(request, client, deps, audited)
  const refreshToken = await deps.foreignRefreshTokens?.findHashedPart(request.refreshToken)
  if (refreshToken === undefined) throw refusal('invalid_grant', 'malformed', client)
  // It is replaced, also for a client that keeps its refresh tokens: the new one has the form of this server.
  return redeem({ ...request, refreshToken }, { ...client, keepsRefreshTokens: false }, deps, audited)
}

async function redeem(
  request: RefreshRequest,
  client: Client,
  deps: RefreshDeps,
  audited: AuditedRequest
): Promise<TokenResponse> {
  const hash = hashToken(request.refreshToken)
  const lifetimes = lifetimesOf(client, deps.lifetimes)
  const pace = refreshPace(lifetimes.accessToken, deps.limitsFactor)
  // The second attempt is for a token that another request rotated between our lookup and our rotation.
  for (let attempt = 1; attempt <= 2; attempt++) {
    const record = await deps.refreshTokens.find(hash)
    if (record === undefined) throw refusal('invalid_grant', 'unknown', client)
    const { grantId, userId } = record
    const concerned = { clientId: client.clientId, userId, grantId }
    const requested = requestedScope(request, client, record)
    const { resource, dpopJkt } = request
    const { clientId, provedKey } = client
    const presented = { clientId, scope: requested, resource, dpopJkt, provedKey }
    const evaluation = evaluateRefresh(record, presented, pace)
    switch (evaluation.kind) {
      case 'wait':
        throw new TooManyAttempts(evaluation.seconds, 'too_many_refreshes')
      case 'rotate': {
        const { scope } = evaluation
        const { senderConstraint } = deps
        const keys = senderConstraint && (await keysOf(senderConstraint, request, client, record))
        const allowed = { request, requested, hash, record, scope, lifetimes, pace, keys }
        const response = await (client.keepsRefreshTokens ? keepRefreshToken(allowed, deps) : rotate(allowed, deps))
        if (response === undefined) continue
        deps.audit.record(audited, { event: 'token_refreshed', ...concerned, scope })
        return response
      }
      case 'repeat_response': {
        const response = repeatResponse({ ...evaluation, record }, request, client, deps)
        deps.audit.record(audited, { event: 'refresh_response_repeated', ...concerned })
        return response
      }
      case 'end_grant':
        await deps.grants.end(grantId)
        deps.audit.record(audited, { ...ENDING[evaluation.reason], ...concerned })
        throw refusal('invalid_grant', evaluation.reason, client, grantId)
      case 'refuse':
        throw refusal(errorOf(evaluation, deps), evaluation.reason, client, grantId)
      default:
        evaluation satisfies never
    }
  }
  // Neither attempt could rotate the token, and it has no successor: the grant ended in between.
  throw refusal('invalid_grant', 'grant_ended', client)
}

/** Undefined for the whole granted scope, also if the request has nothing but what is ignored. */
function requestedScope(
  { scope }: RefreshRequest,
  client: Client,
  record: RefreshTokenRecord
): readonly string[] | undefined {
  const requested = scope && withoutIgnored(scope, client, record.scope)
  return requested?.length === 0 ? undefined : requested
}

/** @throws {OAuthError} if the access token must be bound and there is no proof; the refresh token stays valid */
function keysOf(
  { keysFor }: SenderConstraint,
  { dpopJkt }: RefreshRequest,
  client: Client,
  { audience, wasBound }: RefreshTokenRecord
): Promise<TokenKeys | undefined> {
  return keysFor({ client, audience, dpopJkt, wasBound })
}

/** A server that verifies no proofs any more cannot ask for one: the user must sign in again. */
function errorOf(
  { error }: { error: RefreshError },
  { senderConstraint }: Pick<RefreshDeps, 'senderConstraint'>
): RefreshError {
  return error === 'invalid_dpop_proof' && senderConstraint === undefined ? 'invalid_grant' : error
}

type AllowedRotation = {
  request: RefreshRequest
  requested: readonly string[] | undefined
  hash: TokenHash
  record: RefreshTokenRecord
  scope: readonly string[]
  lifetimes: TokenLifetimes
  pace: RefreshPace
  keys: TokenKeys | undefined
}

/** @returns undefined when another request rotated the token first, or the grant has ended */
async function rotate(
  { request, requested, hash, record, scope, lifetimes, pace, keys }: AllowedRotation,
  deps: Pick<RefreshDeps, 'refreshTokens' | 'lifetimes' | 'retryWindow' | 'tellsEnds' | 'now' | 'randomBytes'>
): Promise<TokenResponse | undefined> {
  const now = deps.now()
  const accessToken = newAccessToken(now, lifetimes, deps, record.endsAt)
  const successor = newRefreshToken(now, record.refreshableUntil, lifetimes, deps.randomBytes)
  const response = {
    accessToken: accessToken.token,
    refreshToken: successor.token,
    scope,
    expiresAt: accessToken.expiresAt.toISOString(),
    refreshExpiresAt: deps.tellsEnds ? successor.expiresAt.toISOString() : undefined,
    keys
  }
  const rotated = await deps.refreshTokens.rotate(
    {
      hash,
      successor,
      accessToken: { ...accessToken, scope },
      retryScope: requestedScopeKey(requested),
      pace,
      keys,
      retry:
        deps.retryWindow === 0
          ? undefined
          : { until: inSeconds(now, deps.retryWindow), response: encryptResponse(response, request.refreshToken) }
    },
    now
  )
  const ends = deps.tellsEnds ? { access: record.refreshableUntil, refreshToken: successor.expiresAt } : undefined
  return rotated ? tokenResponse(accessToken, successor, scope, now, keys, ends) : undefined
}

/**
 * Times are counted from now, and by the end of the grant as it is now: no value is longer than the time that is left.
 * @throws {OAuthError} if the tokens of the first response are bound, and this request does not prove their key
 */
function repeatResponse(
  { response, scope: remaining, record }: { response: Buffer; scope: readonly string[]; record: RefreshTokenRecord },
  request: RefreshRequest,
  client: Client,
  { now, tellsEnds }: Pick<RefreshDeps, 'now' | 'tellsEnds'>
): TokenResponse {
  const { accessToken, refreshToken, keys, ...first } = decryptResponse(response, request.refreshToken)
  const key = keys?.refreshToken ?? keys?.accessToken
  if (key !== undefined && request.dpopJkt === undefined) throw refusal('invalid_dpop_proof', 'without_proof', client)
  if (key !== undefined && request.dpopJkt !== key) throw refusal('invalid_grant', 'wrong_key', client)
  // A scope may have been lost since the first response.
  const scope = first.scope.filter((name) => remaining.includes(name))
  const repeatedAt = now()
  const firstEnd = new Date(first.expiresAt)
  // An access token that would last longer than the grant has ended.
  const expiresAt = record.endsAt !== undefined && firstEnd > record.endsAt ? repeatedAt : firstEnd
  const refreshEnd = first.refreshExpiresAt === undefined ? undefined : new Date(first.refreshExpiresAt)
  const access = record.refreshableUntil
  const ends = tellsEnds ? { access, refreshToken: refreshEnd && earlier(refreshEnd, access) } : undefined
  const token = { token: accessToken, expiresAt }
  return tokenResponse(token, { token: refreshToken }, scope, repeatedAt, keys, ends)
}

const ENDING = {
  reused: { event: 'refresh_token_reused' },
  sign_in_too_old: { event: 'grant_ended', reason: 'sign_in_too_old' },
  no_scope_left: { event: 'grant_ended', reason: 'no_scope_left' }
} as const

const DESCRIPTION: Readonly<Record<RefreshError, string>> = {
  invalid_grant: INVALID_GRANT,
  invalid_scope:
    'The scope is wider than the granted scope, or differs from the scope of the request that is repeated.',
  invalid_target: 'The token was issued for another resource.',
  invalid_dpop_proof: 'The refresh token is bound to a key: send a DPoP proof of it.',
  invalid_client: 'The grant was made with a key of the client, so its refreshes need a client_assertion.'
}

function refusal(error: RefreshError, reason: string, client: Client, grantId?: string): OAuthError {
  return new OAuthError(error, DESCRIPTION[error], {
    reason: `refresh_token_${reason}`,
    clientId: client.clientId,
    ...(grantId !== undefined && { grantId })
  })
}
