import type { UnavailableReason } from './introspection-unavailable.js'

/** Counters since the introspector was built, and its current state. For metrics. */
export type IntrospectorStatistics = {
  cache: {
    /** Requests with a cached response. */
    hits: number
    /** Requests that were introspected because the cache had no result. */
    misses: number
    /** Requests that were introspected because there is no cache, or its feed is not verified. */
    bypasses: number
    /** Current size; `bytes` is estimated. */
    entries: number
    bytes: number
  }
  calls: CallStatistics
  /** Undefined without a revocation feed. */
  feed: FeedStatistics | undefined
}

/** Calls to the authorization server that have ended. */
export type CallStatistics = {
  ended: number
  /** Their total duration. */
  milliseconds: number
  /** Their total number of tokens. */
  tokens: number
  /** Failed calls by reason. `resting`: not sent, because the circuit breaker is open. */
  failures: Readonly<Record<UnavailableReason, number>>
}

export type FeedStatistics = {
  /** Whether the lease runs, so that cached results may be used. */
  isVerified: boolean
  /** Time since the nonce of the lease was sent; undefined before the first proof. The lease ends at 2000. */
  leaseAgeMs: number | undefined
  /** How long the last nonce took to return through Postgres; undefined before the first proof. */
  roundTripMs: number | undefined
  /** How often a verified feed was lost. */
  losses: number
}
