import type { Database } from '@valetkey/service-kit'
import type { ServerMetrics } from '../platform/metrics/server-metrics.js'
import { createRegistry } from '../storage/cached/registry.js'
import { createAccessTokenBuckets } from '../storage/postgres/access-token-buckets.js'
import { createAccessTokenStore } from '../storage/postgres/access-tokens.js'
import { createAllowanceStore } from '../storage/postgres/allowances.js'
import { createAuditEntryStore } from '../storage/postgres/audit-entries.js'
import { createAuditEventStore } from '../storage/postgres/audit-events.js'
import { createClientChangeStore } from '../storage/postgres/client-changes.js'
import { createClientLogoStore } from '../storage/postgres/client-logos.js'
import { createClientSecretStore } from '../storage/postgres/client-secrets.js'
import { createClientStore } from '../storage/postgres/clients.js'
import { createConnectedAppStore } from '../storage/postgres/connected-apps.js'
import { createConsentStore } from '../storage/postgres/consents.js'
import { createGrantedAccessStore } from '../storage/postgres/granted-access.js'
import { createGrantedAudiences } from '../storage/postgres/granted-audiences.js'
import { createGrantStore } from '../storage/postgres/grants.js'
import { createIntrospectionStore } from '../storage/postgres/introspections.js'
import { createOperatorKeyStore } from '../storage/postgres/operator-keys.js'
import { createOwnSessionStore } from '../storage/postgres/own-sessions.js'
import { createRefreshTokenStore } from '../storage/postgres/refresh-tokens.js'
import { createRegistryAnnouncements } from '../storage/postgres/registry-announcements.js'
import { createResourceServerStore } from '../storage/postgres/resource-servers.js'
import { createScopeStore } from '../storage/postgres/scopes.js'
import { createSessionStore, type SessionCheck } from '../storage/postgres/sessions.js'
import { createSignInWayStore } from '../storage/postgres/sign-in-ways.js'
import { createUserStore } from '../storage/postgres/users.js'
import { createAttemptCounterStore } from '../storage/redis/attempt-counters.js'
import { createCodeStore } from '../storage/redis/codes.js'
import { createPendingRequestStore } from '../storage/redis/pending-requests.js'
import type { RecordAuthentication } from '../storage/redis/record-authentication.js'
import type { Redis } from '../storage/redis/redis.js'
import { createRedisProbe } from '../storage/redis/redis-probe.js'

/** Every store of this process, created once. */
export function createStores({
  database,
  redis,
  records,
  watched,
  isDiscoverable,
  hasEnded,
  signInAtLeastEvery,
  limitsFactor
}: {
  database: Database
  redis: Redis
  /** Authenticates the records that Redis returns. */
  records: RecordAuthentication
  watched: Pick<ServerMetrics, 'batchOf' | 'registryBypassed'>
  /** Whether users can create a client with this id by allowing it. */
  isDiscoverable: (clientId: string) => boolean
  hasEnded: SessionCheck
  /** `SIGN_IN_AT_LEAST_EVERY` in seconds. */
  signInAtLeastEvery: number
  /** `LIMITS_FACTOR` */
  limitsFactor: number
}) {
  const buckets = createAccessTokenBuckets(database)
  const registered = {
    announcements: createRegistryAnnouncements(database),
    clients: createClientStore(database),
    changes: createClientChangeStore(database),
    secrets: createClientSecretStore(database),
    scopes: createScopeStore(database),
    resourceServers: createResourceServerStore(database)
  }
  return {
    accessTokens: createAccessTokenStore(database, buckets),
    allowances: createAllowanceStore(database, watched.batchOf('authorize')),
    attemptCounters: createAttemptCounterStore(redis),
    auditEntries: createAuditEntryStore(database),
    auditEvents: createAuditEventStore(database),
    buckets,
    clientLogos: createClientLogoStore(database),
    codes: createCodeStore(redis, records),
    connectedApps: createConnectedAppStore(database),
    consents: createConsentStore(database),
    grantedAccess: createGrantedAccessStore(database),
    grantedAudiences: createGrantedAudiences(database),
    grants: createGrantStore(database, buckets, { limitsFactor, onBatch: watched.batchOf('exchange') }),
    introspections: createIntrospectionStore(database, buckets, watched.batchOf('introspect')),
    operatorKeys: createOperatorKeyStore(database),
    ownSessions: createOwnSessionStore(database),
    pending: createPendingRequestStore(redis),
    redisProbe: createRedisProbe(redis),
    refreshTokens: createRefreshTokenStore(database, buckets, {
      signInAtLeastEvery,
      onBatch: watched.batchOf('refresh')
    }),
    /** What operators register, in Postgres: for their use cases. */
    registered,
    /** The same, cached: for everything else. */
    registry: createRegistry(registered, watched.registryBypassed, isDiscoverable),
    sessions: createSessionStore(database, hasEnded),
    signInWays: createSignInWayStore(database),
    users: createUserStore(database)
  }
}

export type Stores = ReturnType<typeof createStores>
