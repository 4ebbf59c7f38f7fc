import type { UnavailableReason } from './introspection-unavailable.js'

/** What an introspector has seen since it was built, and how it stands: numbers to read, for whoever watches an API. */
export type IntrospectorStatistics = {
  cache: {
    /** Answered from memory. */
    hits: number
    /** Asked for, although an answer might have been kept. */
    misses: number
    /** Asked for, because nothing may be kept: there is no cache, or its feed is not proved. */
    bypasses: number
    /** Kept now, and what they take by estimate. */
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
  /** How long all of them took. */
  milliseconds: number
  /** How many tokens they asked about. */
  tokens: number
  /** Those that failed; `resting`: not made at all, since the server is left alone for a moment. */
  failures: Readonly<Record<UnavailableReason, number>>
}

export type FeedStatistics = {
  /** Whether the lease runs: kept answers may be used. */
  isVerified: boolean
  /** Since the nonce of the lease was sent; undefined before the first proof. The lease ends at 2000. */
  leaseAgeMs: number | undefined
  /** How long the last nonce took to come back through Postgres; undefined before the first. */
  roundTripMs: number | undefined
  /** How often a feed that was proved has been lost. */
  losses: number
}
