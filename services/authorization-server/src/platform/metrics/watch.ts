import type { Metrics } from '@valetkey/service-kit'
import type { AccessTokenBuckets } from '../../storage/postgres/access-token-buckets.js'
import type { PasswordQueue } from '../passwords/password-queue.js'

/** The state of the LISTEN connection. */
export type ChannelState = {
  isVerified: boolean
  proofAgeMs: number
  subscribers: number
  receivedRevocations: number
  losses: number
}

/** The LISTEN connection, which receives revocation events and changes of the registry. */
export function watchChannel(metrics: Metrics, channel: { state(): ChannelState }): void {
  metrics.gauge(
    { name: 'valetkey_listen_verified', help: '1 while it is confirmed that all notifications are received.' },
    () => (channel.state().isVerified ? 1 : 0)
  )
  metrics.gauge(
    {
      name: 'valetkey_listen_proof_age_seconds',
      help: 'Age of the last confirmation that all notifications are received.'
    },
    () => channel.state().proofAgeMs / 1_000
  )
  metrics.gauge(
    { name: 'valetkey_feed_subscribers', help: 'Open streams of the revocation feed at this process.' },
    () => channel.state().subscribers
  )
  metrics.countElsewhere(
    { name: 'valetkey_feed_revocations_total', help: 'Revocation events received, from all processes.' },
    () => channel.state().receivedRevocations
  )
  metrics.countElsewhere(
    { name: 'valetkey_listen_losses_total', help: 'LISTEN connections that were lost.' },
    () => channel.state().losses
  )
}

export function watchPasswordQueue(metrics: Metrics, queue: PasswordQueue): void {
  metrics.gauge({ name: 'valetkey_password_hashes', help: 'Passwords that are being hashed or wait for it.' }, () => {
    const { running, waiting } = queue.state()
    return [
      { labels: { state: 'running' }, value: running },
      { labels: { state: 'waiting' }, value: waiting }
    ]
  })
  metrics.countElsewhere(
    {
      name: 'valetkey_password_hashes_refused_total',
      help: 'Passwords that were not checked because too many were waiting.'
    },
    () => queue.state().refused
  )
}

export function watchTokens(metrics: Metrics, buckets: Pick<AccessTokenBuckets, 'estimate'>): void {
  metrics.gauge(
    {
      name: 'valetkey_access_tokens_stored',
      help: 'Estimated number of access tokens that have not expired, including ended ones; the same at every process.'
    },
    () => buckets.estimate()
  )
}
