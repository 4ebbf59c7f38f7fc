import type { Metrics } from '@valetkey/service-kit'
import type { AccessTokenBuckets } from '../../storage/postgres/access-token-buckets.js'
import type { PasswordQueue } from '../passwords/password-queue.js'

/** How listening to Postgres stands, and what has been seen of it. */
export type ChannelState = {
  isVerified: boolean
  proofAgeMs: number
  subscribers: number
  heard: number
  losses: number
}

/** Where Postgres announces what dies and what changes. */
export function watchChannel(metrics: Metrics, channel: { state(): ChannelState }): void {
  metrics.gauge(
    { name: 'valetkey_listen_verified', help: '1 while it is proved that all announcements are heard.' },
    () => (channel.state().isVerified ? 1 : 0)
  )
  metrics.gauge(
    { name: 'valetkey_listen_proof_age_seconds', help: 'Age of the last proof that all announcements are heard.' },
    () => channel.state().proofAgeMs / 1_000
  )
  metrics.gauge(
    { name: 'valetkey_feed_subscribers', help: 'Streams of the revocation feed that are open here.' },
    () => channel.state().subscribers
  )
  metrics.countElsewhere(
    { name: 'valetkey_feed_revocations_total', help: 'Revocations heard, made wherever.' },
    () => channel.state().heard
  )
  metrics.countElsewhere(
    { name: 'valetkey_listen_losses_total', help: 'LISTEN sessions that were lost.' },
    () => channel.state().losses
  )
}

export function watchPasswordQueue(metrics: Metrics, queue: PasswordQueue): void {
  metrics.gauge({ name: 'valetkey_password_hashes', help: 'Passwords that are hashed now, or wait for it.' }, () => {
    const { running, waiting } = queue.state()
    return [
      { labels: { state: 'running' }, value: running },
      { labels: { state: 'waiting' }, value: waiting }
    ]
  })
  metrics.countElsewhere(
    { name: 'valetkey_password_hashes_refused_total', help: 'Passwords that were not checked, for too many waited.' },
    () => queue.state().refused
  )
}

export function watchTokens(metrics: Metrics, buckets: Pick<AccessTokenBuckets, 'estimate'>): void {
  metrics.gauge(
    {
      name: 'valetkey_access_tokens_stored',
      help: 'Estimate of the access tokens that have not expired, ended ones included; the same at every process.'
    },
    () => buckets.estimate()
  )
}
