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
  type TokenLifetimes,
  type TokenResponse,
  withoutIgnored
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import { TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { RefreshTokenRecord, RefreshTokenStore } from '../../storage/postgres/refresh-tokens.js'
import { evaluateRefresh, type RefreshPace, refreshPace, requestedScopeKey } from './evaluate-refresh.js'
import { inSeconds, newAccessToken, newRefreshToken, tokenResponse } from './new-tokens.js'
import { decryptResponse, encryptResponse } from './retry-response.js'

export type RefreshDeps = {
  refreshTokens: Pick<RefreshTokenStore, 'find' | 'rotate'>
  grants: Pick<GrantStore, 'end'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  /** `LIMITS_FACTOR`: multiplies how often a grant may be refreshed. */
  limitsFactor: number
  /** Seconds in which the rotated token returns the same response again; 0 disables this. */
  retryWindow: number
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
  if (!isWellFormed('refreshToken', request.refreshToken)) throw refusal('invalid_grant', 'malformed', client)
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
    const presented = { clientId: client.clientId, scope: requested, resource: request.resource }
    const evaluation = evaluateRefresh(record, presented, pace)
    switch (evaluation.kind) {
      case 'wait':
        throw new TooManyAttempts(evaluation.seconds, 'too_many_refreshes')
      case 'rotate': {
        const { scope } = evaluation
        const response = await rotate({ request, requested, hash, record, scope, lifetimes, pace }, deps)
        if (response === undefined) continue
        deps.audit.record(audited, { event: 'token_refreshed', ...concerned, scope })
        return response
      }
      case 'repeat_response':
        deps.audit.record(audited, { event: 'refresh_response_repeated', ...concerned })
        return repeatResponse(evaluation, request, deps.now())
      case 'end_grant':
        await deps.grants.end(grantId)
        deps.audit.record(audited, { ...ENDING[evaluation.reason], ...concerned })
        throw refusal('invalid_grant', evaluation.reason, client, grantId)
      case 'refuse':
        throw refusal(evaluation.error, evaluation.reason, client, grantId)
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

type AllowedRotation = {
  request: RefreshRequest
  requested: readonly string[] | undefined
  hash: TokenHash
  record: RefreshTokenRecord
  scope: readonly string[]
  lifetimes: TokenLifetimes
  pace: RefreshPace
}

/** @returns undefined when another request rotated the token first, or the grant has ended */
async function rotate(
  { request, requested, hash, record, scope, lifetimes, pace }: AllowedRotation,
  deps: Pick<RefreshDeps, 'refreshTokens' | 'lifetimes' | 'retryWindow' | 'now' | 'randomBytes'>
): Promise<TokenResponse | undefined> {
  const now = deps.now()
  const accessToken = newAccessToken(now, lifetimes, deps)
  const successor = newRefreshToken(now, record.refreshableUntil, lifetimes, deps.randomBytes)
  const response = {
    accessToken: accessToken.token,
    refreshToken: successor.token,
    scope,
    expiresAt: accessToken.expiresAt.toISOString()
  }
  const rotated = await deps.refreshTokens.rotate(
    {
      hash,
      successor,
      accessToken: { ...accessToken, scope },
      retryScope: requestedScopeKey(requested),
      pace,
      retry:
        deps.retryWindow === 0
          ? undefined
          : { until: inSeconds(now, deps.retryWindow), response: encryptResponse(response, request.refreshToken) }
    },
    now
  )
  return rotated ? tokenResponse(accessToken, successor, scope, now) : undefined
}

function repeatResponse(
  { response, scope: remaining }: { response: Buffer; scope: readonly string[] },
  request: RefreshRequest,
  now: Date
): TokenResponse {
  const { accessToken, refreshToken, expiresAt, ...first } = decryptResponse(response, request.refreshToken)
  // A scope may have been lost since the first response.
  const scope = first.scope.filter((name) => remaining.includes(name))
  return tokenResponse({ token: accessToken, expiresAt: new Date(expiresAt) }, { token: refreshToken }, scope, now)
}

const ENDING = {
  reused: { event: 'refresh_token_reused' },
  sign_in_too_old: { event: 'grant_ended', reason: 'sign_in_too_old' },
  no_scope_left: { event: 'grant_ended', reason: 'no_scope_left' }
} as const

const DESCRIPTION = {
  invalid_grant: INVALID_GRANT,
  invalid_scope:
    'The scope is wider than the granted scope, or differs from the scope of the request that is repeated.',
  invalid_target: 'The token was issued for another resource.'
}

function refusal(error: keyof typeof DESCRIPTION, reason: string, client: Client, grantId?: string): OAuthError {
  return new OAuthError(error, DESCRIPTION[error], {
    reason: `refresh_token_${reason}`,
    clientId: client.clientId,
    ...(grantId !== undefined && { grantId })
  })
}
