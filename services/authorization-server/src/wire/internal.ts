import { randomBytes } from 'node:crypto'
import { type Database, openNotificationChannel, type SendNotification } from '@valetkey/service-kit'
import type { AppDeps } from '../app.js'
import type { Config } from '../config.js'
import { createRevocationChannel, type RevocationChannel } from '../feed/revocation-channel.js'
import type { ServerMetrics } from '../platform/metrics/server-metrics.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

// The names are those of `announce_revocation` and `announce_registry_change` in the migrations.
const REVOCATIONS = 'valetkey_revocations'
const REGISTRY = 'valetkey_registry'

// Well below the minute after which a silent connection is cut, here or by a proxy.
const KEEP_ALIVE_MS = 15_000

/** The internal listener: introspection and the revocation feed, for resource servers. */
export function wireInternal(
  config: Config,
  stores: Stores,
  { limiter, usage, now }: Platform,
  watched: Pick<ServerMetrics, 'introspected'>,
  channel: RevocationChannel
): Pick<AppDeps, 'introspection' | 'feed'> {
  const { resourceServers } = stores.registry
  return {
    introspection: {
      issuer: config.issuer,
      resourceServers,
      limiter,
      introspections: stores.introspections,
      usage,
      onResult: watched.introspected,
      now
    },
    feed: { channel, resourceServers, limiter, usage: usage.resourceServers, keepAliveMs: KEEP_ALIVE_MS }
  }
}

/**
 * @param database sends a notification over the pooler, if there is one, which must arrive on the LISTEN connection
 * @param makeRoom closes an idle connection of the pool, when Postgres has no free connection for LISTEN
 */
export function wireChannel(
  { databaseUrl, databaseDirectUrl }: Config,
  database: Database,
  stores: Stores,
  makeRoom: () => Promise<void>
): RevocationChannel {
  const send: SendNotification = (channel) =>
    database.query({ name: 'send_check', text: 'select pg_notify($1, $2)', values: [channel, ''] })
  return createRevocationChannel({
    connect: (handlers) =>
      openNotificationChannel(
        databaseDirectUrl ?? databaseUrl,
        [REVOCATIONS, REGISTRY],
        (payload, channel) => (channel === REGISTRY ? handlers.registryChange(payload) : handlers.revocation(payload)),
        handlers.lost,
        { makeRoom, send: databaseDirectUrl === undefined ? undefined : send }
      ),
    registry: stores.registry.follower,
    resourceServers: stores.registered.resourceServers,
    grantedAudiences: stores.grantedAudiences,
    newId: () => randomBytes(16).toString('base64url'),
    monotonicNow: () => performance.now()
  })
}
