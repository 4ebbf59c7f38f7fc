import {
  type Client,
  digestToken,
  INVALID_GRANT,
  isWellFormed,
  OAuthError,
  type RandomBytes,
  type RefreshRequest,
  type TokenDigest,
  type TokenResponse
} from '@valetkey/oauth-protocol'
import type { AuditedRequest, AuditTrail } from '../../platform/audit/audit-trail.js'
import { lifetimesOf, type TokenLifetimes } from '../../platform/clients/client-lifetimes.js'
import { TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import type { GrantStore } from '../../storage/postgres/grants.js'
import type { RefreshTokenRecord, RefreshTokenStore } from '../../storage/postgres/refresh-tokens.js'
import { evaluateRefresh, requestedScopeKey } from './evaluate-refresh.js'
import { inSeconds, newAccessToken, newRefreshToken, tokenResponse } from './mint-tokens.js'
import { type RefreshPace, refreshPace, secondsToWait } from './refresh-pace.js'
import { encryptAnswer, openAnswer } from './retry-answer.js'

export type RefreshDeps = {
  refreshTokens: Pick<RefreshTokenStore, 'find' | 'rotate'>
  grants: Pick<GrantStore, 'end'>
  audit: AuditTrail
  lifetimes: TokenLifetimes
  /** `LIMITS_FACTOR`: multiplies how often a grant may be refreshed. */
  limitsFactor: number
  /** Seconds in which the old token still brings the very same new pair; 0 for never. */
  retryWindow: number
  now: () => Date
  randomBytes: RandomBytes
}

/**
 * Exchanges a refresh token for a new pair (RFC 6749 §6), for a client that has proved itself.
 * @throws {TooManyAttempts} when the grant was refreshed too often; the token is as good as before
 */
export async function refreshTokens(
  request: RefreshRequest,
  client: Client,
  deps: RefreshDeps,
  audited: AuditedRequest
): Promise<TokenResponse> {
  if (!isWellFormed('refreshToken', request.refreshToken)) throw refusal('invalid_grant', 'malformed', client)
  const digest = digestToken(request.refreshToken)
  const lifetimes = lifetimesOf(client, deps.lifetimes)
  const pace = refreshPace(lifetimes.accessToken, deps.limitsFactor)
  const presented = { clientId: client.clientId, scope: request.scope, resource: request.resource }
  // A second look is needed only when another request rotated the token between our look and our own rotation.
  for (let look = 1; look <= 2; look++) {
    const record = await deps.refreshTokens.find(digest)
    if (record === undefined) throw refusal('invalid_grant', 'unknown', client)
    const { grantId, userId } = record
    const concerned = { clientId: client.clientId, userId, grantId }
    const judgement = evaluateRefresh(record, presented)
    switch (judgement.kind) {
      case 'rotate': {
        // A grant has one token that is not rotated, so nothing but its rotation can change the wait in between.
        const wait = secondsToWait(record.waitSeconds, pace)
        if (wait > 0) throw new TooManyAttempts(wait, 'too_many_refreshes')
        const pair = await rotate(request, digest, record, judgement.scope, { ...deps, lifetimes, pace })
        if (pair === undefined) continue
        deps.audit.record(audited, { event: 'token_refreshed', ...concerned, scope: judgement.scope })
        return pair
      }
      case 'repeat_answer':
        deps.audit.record(audited, { event: 'refresh_answer_repeated', ...concerned })
        return repeatAnswer(judgement.answer, request, deps.now())
      case 'end_grant':
        await deps.grants.end(grantId)
        deps.audit.record(audited, { event: 'refresh_token_reused', ...concerned })
        throw refusal('invalid_grant', 'reused', client, grantId)
      case 'refuse':
        throw refusal(judgement.error, judgement.reason, client, grantId)
    }
  }
  // Rotated by somebody else and yet not rotated: the grant was ended in between.
  throw refusal('invalid_grant', 'grant_ended', client)
}

async function rotate(
  request: RefreshRequest,
  digest: TokenDigest,
  record: RefreshTokenRecord,
  scope: readonly string[],
  deps: RefreshDeps & { pace: RefreshPace }
): Promise<TokenResponse | undefined> {
  const now = deps.now()
  const accessToken = newAccessToken(now, deps.lifetimes, deps.randomBytes)
  const successor = newRefreshToken(now, record.refreshableUntil, deps.lifetimes, deps.randomBytes)
  const answer = {
    accessToken: accessToken.token,
    refreshToken: successor.token,
    scope,
    expiresAt: accessToken.expiresAt.toISOString()
  }
  const rotated = await deps.refreshTokens.rotate(
    {
      digest,
      successor,
      accessToken: { ...accessToken, scope },
      retryScope: requestedScopeKey(request.scope),
      pace: deps.pace,
      retry:
        deps.retryWindow === 0
          ? undefined
          : { until: inSeconds(now, deps.retryWindow), answer: encryptAnswer(answer, request.refreshToken) }
    },
    now
  )
  return rotated ? tokenResponse(accessToken, successor, scope, now) : undefined
}

function repeatAnswer(sealed: Buffer, request: RefreshRequest, now: Date): TokenResponse {
  const { accessToken, refreshToken, scope, expiresAt } = openAnswer(sealed, request.refreshToken)
  return tokenResponse({ token: accessToken, expiresAt: new Date(expiresAt) }, { token: refreshToken }, scope, now)
}

const DESCRIPTION = {
  invalid_grant: INVALID_GRANT,
  invalid_scope: 'The scope is wider than what was granted, or differs from that of the request which is repeated.',
  invalid_target: 'The token was issued for another resource.'
}

function refusal(error: keyof typeof DESCRIPTION, reason: string, client: Client, grantId?: string): OAuthError {
  return new OAuthError(error, DESCRIPTION[error], {
    reason: `refresh_token_${reason}`,
    clientId: client.clientId,
    ...(grantId !== undefined && { grantId })
  })
}
