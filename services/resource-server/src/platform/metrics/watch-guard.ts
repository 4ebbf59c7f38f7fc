import type { FeedStatistics, Guard, WatchedIntrospector } from '@valetkey/guard'
import type { Metrics } from '@valetkey/service-kit'

/** Exports the guard's statistics: cache, introspection calls and revocation feed. */
export function watchGuard(metrics: Metrics, { statistics }: Pick<WatchedIntrospector, 'statistics'>): void {
  watchCache(metrics, () => statistics().cache)
  watchCalls(metrics, () => statistics().calls)
  watchFeed(metrics, () => statistics().feed)
}

/** Exports what this process remembers of DPoP proofs. No sample where no proof is accepted. */
export function watchProofs(metrics: Metrics, { replayStatistics }: Pick<Guard, 'replayStatistics'>): void {
  const sample = (member: 'entries' | 'bytes' | 'refusedFull') => {
    const statistics = replayStatistics()
    return statistics === undefined ? [] : [{ value: statistics[member] }]
  }
  metrics.gauge(
    { name: 'valetkey_proofs_remembered', help: 'DPoP proofs that are remembered, so that none is used twice.' },
    () => sample('entries')
  )
  metrics.gauge({ name: 'valetkey_proofs_remembered_bytes', help: 'Memory of the remembered proofs.' }, () =>
    sample('bytes')
  )
  metrics.countElsewhere(
    { name: 'valetkey_proofs_memory_full_total', help: 'Proofs answered with 503, because no more can be remembered.' },
    () => sample('refusedFull')
  )
}

type Statistics = ReturnType<WatchedIntrospector['statistics']>

function watchCache(metrics: Metrics, cache: () => Statistics['cache']): void {
  metrics.countElsewhere(
    { name: 'valetkey_token_cache_requests_total', help: 'Requests with a token, by what the cache of tokens did.' },
    () => {
      const { hits, misses, bypasses } = cache()
      return Object.entries({ hit: hits, miss: misses, bypass: bypasses }).map(([result, value]) => ({
        labels: { result },
        value
      }))
    }
  )
  metrics.gauge({ name: 'valetkey_token_cache_entries', help: 'Cached introspection results.' }, () => cache().entries)
  metrics.gauge(
    { name: 'valetkey_token_cache_bytes', help: 'Estimated memory of the cached results.' },
    () => cache().bytes
  )
}

function watchCalls(metrics: Metrics, calls: () => Statistics['calls']): void {
  metrics.summary(
    { name: 'valetkey_introspection_call_seconds', help: 'Completed calls to the authorization server.' },
    () => ({ count: calls().ended, sum: calls().milliseconds / 1_000 })
  )
  metrics.countElsewhere(
    { name: 'valetkey_introspection_call_tokens_total', help: 'Tokens in these calls.' },
    () => calls().tokens
  )
  metrics.countElsewhere(
    { name: 'valetkey_introspection_failures_total', help: 'Calls that failed or were not made, by reason.' },
    () => Object.entries(calls().failures).map(([reason, value]) => ({ labels: { reason }, value }))
  )
}

function watchFeed(metrics: Metrics, feed: () => FeedStatistics | undefined): void {
  /** No sample without a feed or before its first proof, because a number would be wrong. */
  const known = (value: number | undefined) => (value === undefined ? [] : [{ value }])

  metrics.gauge(
    {
      name: 'valetkey_feed_lease_held',
      help: '1 while the revocation feed is verified, so cached results may be used.'
    },
    () => known(feed() && Number(feed()?.isVerified))
  )
  metrics.gauge(
    { name: 'valetkey_feed_lease_age_seconds', help: 'Seconds since the nonce of the lease was sent.' },
    () => known(inSeconds(feed()?.leaseAgeMs))
  )
  metrics.gauge(
    { name: 'valetkey_feed_round_trip_seconds', help: 'Time until the last nonce returned through Postgres.' },
    () => known(inSeconds(feed()?.roundTripMs))
  )
  metrics.countElsewhere({ name: 'valetkey_feed_losses_total', help: 'How often a verified feed was lost.' }, () =>
    known(feed()?.losses)
  )
}

const inSeconds = (milliseconds: number | undefined): number | undefined =>
  milliseconds === undefined ? undefined : milliseconds / 1_000
