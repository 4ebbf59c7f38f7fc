/** How often a grant may be refreshed: a burst at once, and then one refresh each interval. */
export type RefreshPace = { burst: number; intervalSeconds: number }

const BURST = 30

/**
 * The pace that clients are held to. One refresh in an access token's life is what an honest client needs; it gets sixty of
 * them, but no more than one in 10 seconds and no fewer than one in a minute, and always six in an access token's life.
 * With a pace the rows that one grant can make are bounded: see `mostRefreshTokens`.
 * @param accessTokenTtl seconds
 * @param factor multiplies the limit (`LIMITS_FACTOR`); below 1 it makes the burst smaller and leaves the interval, so that a
 *   client can still refresh as often as its tokens end
 */
export function refreshPace(accessTokenTtl: number, factor: number): RefreshPace {
  const intervalSeconds = Math.min(60, Math.max(10, accessTokenTtl / 60), accessTokenTtl / 6)
  return { burst: Math.max(1, Math.floor(BURST * factor)), intervalSeconds: intervalSeconds / Math.max(1, factor) }
}

/**
 * The rows of refresh tokens that one grant can have at a time: a rotated token is kept for as long as it would have lived,
 * so that its reuse is noticed.
 * @param refreshTokenIdleTtl seconds
 */
export function mostRefreshTokens({ burst, intervalSeconds }: RefreshPace, refreshTokenIdleTtl: number): number {
  return 1 + burst + Math.ceil(refreshTokenIdleTtl / intervalSeconds)
}

/**
 * Seconds until the grant may be refreshed; 0: now.
 * @param waitSeconds as the store has it. No wait is longer than an interval, unless the clock of Postgres was set back since:
 *   then it means nothing.
 */
export function secondsToWait(waitSeconds: number, { intervalSeconds }: RefreshPace): number {
  return waitSeconds > Math.ceil(intervalSeconds) ? 0 : Math.ceil(Math.max(0, waitSeconds))
}
