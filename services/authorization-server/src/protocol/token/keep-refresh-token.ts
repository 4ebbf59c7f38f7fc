import type { RandomBytes, TokenHash, TokenKeys, TokenLifetimes, TokenResponse } from '@valetkey/oauth-protocol'
import { TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import type { RefreshTokenRecord, RefreshTokenStore } from '../../storage/postgres/refresh-tokens.js'
import type { RefreshPace } from './evaluate-refresh.js'
import { idleEnd, newAccessToken, tokenResponse } from './new-tokens.js'

type AllowedRefresh = {
  hash: TokenHash
  record: RefreshTokenRecord
  scope: readonly string[]
  lifetimes: TokenLifetimes
  pace: RefreshPace
  keys: TokenKeys | undefined
}

/**
 * Issues an access token and leaves the refresh token as it is (RFC 6749 §6). A lost response costs nothing: the client repeats the
 * request. The response has no refresh token.
 * @returns undefined when the grant has ended, or another request rotated the token
 * @throws {TooManyAttempts}
 */
export async function keepRefreshToken(
  { hash, record, scope, lifetimes, pace, keys }: AllowedRefresh,
  deps: {
    refreshTokens: Pick<RefreshTokenStore, 'keep'>
    lifetimes: TokenLifetimes
    tellsEnds?: boolean | undefined
    now: () => Date
    randomBytes: RandomBytes
  }
): Promise<TokenResponse | undefined> {
  const now = deps.now()
  const accessToken = newAccessToken(now, lifetimes, deps, record.endsAt)
  const idleUntil = idleEnd(now, record.refreshableUntil, lifetimes)
  const outcome = await deps.refreshTokens.keep({
    hash,
    idleUntil,
    accessToken: { ...accessToken, scope },
    pace,
    keys,
    now
  })
  if (outcome === 'too_soon') throw new TooManyAttempts(Math.ceil(pace.intervalSeconds), 'too_many_refreshes')
  // The refresh token that the client has is used, so its time begins again.
  const ends = deps.tellsEnds ? { access: record.refreshableUntil, refreshToken: idleUntil } : undefined
  return outcome === 'kept' ? tokenResponse(accessToken, undefined, scope, now, keys, ends) : undefined
}
