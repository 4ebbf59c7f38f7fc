import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import {
  type ConnectedDatabase,
  checkWritable,
  createDatabaseClock,
  type Database,
  type Logger,
  openNotificationChannel,
  watchClock
} from '@valetkey/service-kit'
import type { AppDeps } from './app.js'
import { cookiePolicy } from './browser/session/cookies.js'
import { newRandomId } from './browser/session/random-id.js'
import type { Config } from './config.js'
import { createRevocationChannel } from './feed/revocation-channel.js'
import { loadBranding } from './http/branding.js'
import { createAuditTrail } from './platform/audit/audit-trail.js'
import { createRecordAuthentication } from './platform/encryption/authenticate-records.js'
import { loadLanguages } from './platform/i18n/language.js'
import { countDecisions } from './platform/metrics/audit-metrics.js'
import { createServerMetrics } from './platform/metrics/server-metrics.js'
import { watchChannel, watchPasswordQueue, watchTokens } from './platform/metrics/watch.js'
import { hashPassword } from './platform/passwords/password.js'
import { createPasswordQueue } from './platform/passwords/password-queue.js'
import { createLimiter } from './platform/rate-limits/limiter.js'
import { createUsage } from './platform/usage.js'
import { createCodeReturns } from './protocol/token/return-codes.js'
import { createRegistry } from './storage/cached/registry.js'
import { createAccessTokenBuckets } from './storage/postgres/access-token-buckets.js'
import { createAccessTokenStore } from './storage/postgres/access-tokens.js'
import { createAllowanceStore } from './storage/postgres/allowances.js'
import { createAuditEntryStore } from './storage/postgres/audit-entries.js'
import { createAuditEventStore } from './storage/postgres/audit-events.js'
import { createClientChangeStore } from './storage/postgres/client-changes.js'
import { createClientSecretStore } from './storage/postgres/client-secrets.js'
import { createClientStore } from './storage/postgres/clients.js'
import { createConnectedAppStore } from './storage/postgres/connected-apps.js'
import { createConsentStore } from './storage/postgres/consents.js'
import { createGrantedAccessStore } from './storage/postgres/granted-access.js'
import { createGrantedAudiences } from './storage/postgres/granted-audiences.js'
import { createGrantStore } from './storage/postgres/grants.js'
import { createIntrospectionStore } from './storage/postgres/introspections.js'
import { createOperatorKeyStore } from './storage/postgres/operator-keys.js'
import { createRefreshTokenStore } from './storage/postgres/refresh-tokens.js'
import { createRegistryAnnouncements } from './storage/postgres/registry-announcements.js'
import { createResourceServerStore } from './storage/postgres/resource-servers.js'
import { createScopeStore } from './storage/postgres/scopes.js'
import { createUserStore } from './storage/postgres/users.js'
import { createAttemptCounterStore } from './storage/redis/attempt-counters.js'
import { createCodeStore } from './storage/redis/codes.js'
import { createPendingRequestStore } from './storage/redis/pending-requests.js'
import type { Redis } from './storage/redis/redis.js'
import { createRedisProbe } from './storage/redis/redis-probe.js'
import { createSessionStore } from './storage/redis/sessions.js'

// One processor and one of libuv's four threads stay free. 20 seconds serve 230 users behind one address on a slow machine.
const PASSWORD_QUEUE = {
  atOnce: Math.max(1, Math.min(3, availableParallelism() - 1)),
  waiting: 1_000,
  milliseconds: 20_000
}

const WRITTEN_TABLES = ['users', 'consents', 'grants', 'refresh_tokens', 'audit_events']

// As `announce_revocation` and `announce_registry_change` in the migrations name them.
const REVOCATIONS = 'valetkey_revocations'
const REGISTRY = 'valetkey_registry'

// Well below the minute after which a silent connection is cut, here or by a proxy.
const KEEP_ALIVE_MS = 15_000

/** What a pool of connections does beside statements; a database of a test may lack it. */
type OwnDatabase = Database & Partial<Pick<ConnectedDatabase, 'giveUpOne' | 'refuseSharing'>>

/**
 * Which store each step gets: the one page where storage and steps meet.
 * @param clock the only one that steps and stores read
 * @param logger for what belongs to no request
 */
export function wire(
  config: Config,
  database: OwnDatabase,
  redis: Redis,
  clock = createDatabaseClock(database),
  logger?: Logger
): AppDeps {
  const { now } = clock
  const { issuer, cookieKeys } = config
  const watched = createServerMetrics()
  const { metrics, batchOf } = watched
  const audit = countDecisions(metrics, createAuditTrail(createAuditEventStore(database), now))
  const buckets = createAccessTokenBuckets(database)
  const accessTokens = createAccessTokenStore(database, buckets)
  const connectedApps = createConnectedAppStore(database)
  const records = createRecordAuthentication(cookieKeys, (kind) => {
    watched.forgedRecord(kind)
    logger?.warn({ event: 'redis_record_forged', kind }, 'a record in Redis failed its authentication')
  })
  const codes = createCodeStore(redis, records)
  const returns = createCodeReturns(codes)
  const consents = createConsentStore(database)
  const operatorKeys = createOperatorKeyStore(database)
  const allowances = createAllowanceStore(database, batchOf('authorize'))
  const grants = createGrantStore(database, buckets, batchOf('exchange'))
  const pending = createPendingRequestStore(redis)
  const refreshTokens = createRefreshTokenStore(database, buckets, batchOf('refresh'))
  const sessions = createSessionStore(redis, records)
  const users = createUserStore(database)
  const stores = {
    announcements: createRegistryAnnouncements(database),
    clients: createClientStore(database),
    changes: createClientChangeStore(database),
    secrets: createClientSecretStore(database),
    scopes: createScopeStore(database),
    resourceServers: createResourceServerStore(database)
  }
  const registry = createRegistry(stores, watched.registryBypassed)
  const { clients, scopes, resourceServers } = registry

  const usage = {
    grants: createUsage(connectedApps, now),
    clientSecrets: createUsage(stores.secrets, now),
    resourceServers: createUsage(stores.resourceServers, now)
  }
  const lifetimes = {
    accessToken: config.accessTokenTtl,
    refreshTokenIdle: config.refreshTokenIdleTtl,
    refreshTokenMax: config.refreshTokenMaxTtl
  }
  const session = { cookies: cookiePolicy(issuer), sessions, users, now }
  const validation = { clients, resourceServers, defaultAudience: config.resourceUrl }
  const issue = { codes, audit, codeTtl: config.codeTtl, randomBytes }
  const limiter = createLimiter(createAttemptCounterStore(redis), config.limitsFactor, watched.limiterRefused)
  const authentication = { clients, limiter, usage: usage.clientSecrets, now }
  const decoyHash = once(() => hashPassword(newRandomId()))
  const passwordQueue = createPasswordQueue(PASSWORD_QUEUE)
  const channel = createRevocationChannel({
    connect: (ear) =>
      openNotificationChannel(
        config.databaseUrl,
        [REVOCATIONS, REGISTRY],
        (payload, channel) => (channel === REGISTRY ? ear.registryChange(payload) : ear.revocation(payload)),
        ear.lost,
        { makeRoom: async () => database.giveUpOne?.() }
      ),
    registry: registry.follower,
    resourceServers: stores.resourceServers,
    granted: createGrantedAudiences(database),
    newId: () => randomBytes(16).toString('base64url'),
    monotonicNow: () => performance.now()
  })
  watchChannel(metrics, channel)
  watchPasswordQueue(metrics, passwordQueue)
  watchTokens(metrics, buckets)
  watchClock(metrics, clock)

  return {
    watched,
    audit,
    usages: Object.values(usage),
    channel,
    buckets,
    returns,
    pages: { issuer, languages: loadLanguages(), branding: loadBranding(config) },
    scopes,
    session,
    authorize: { issuer, validation, pending, allowances, issue, audit },
    login: {
      issuer,
      cookieKeys,
      validation,
      pending,
      session,
      audit,
      signIn: { users, passwordQueue, limiter, audit, decoyHash }
    },
    consent: {
      issuer,
      cookieKeys,
      validation,
      pending,
      consents,
      scopes,
      lifetimes,
      decide: { issuer, pending, consents, allowances, issue, audit },
      repeat: { pending, codes },
      audit
    },
    account: { issuer, cookieKeys, apps: connectedApps, scopes, audit, now },
    token: {
      authentication,
      redemption: { codes, returns, grants, audit, lifetimes, now, randomBytes },
      refresh: {
        refreshTokens,
        grants,
        audit,
        lifetimes,
        limitsFactor: config.limitsFactor,
        retryWindow: config.refreshRetryWindow,
        now,
        randomBytes
      }
    },
    revocation: { authentication, revocation: { accessTokens, refreshTokens, audit } },
    introspection: {
      issuer,
      resourceServers,
      limiter,
      introspections: createIntrospectionStore(database, buckets, batchOf('introspect')),
      usage,
      onAnswer: watched.introspected,
      now
    },
    feed: { channel, resourceServers, limiter, usage: usage.resourceServers, keepAliveMs: KEEP_ALIVE_MS },
    admin: {
      authentication: { operatorKeys, limiter, audit },
      operatorKeys: { operatorKeys },
      users: { users, hashPassword: (password) => passwordQueue.run(() => hashPassword(password)) },
      grants: { grants: createGrantedAccessStore(database), users, clients },
      audit: { entries: createAuditEntryStore(database) },
      clients: { ...stores, consents },
      scopes: { scopes: stores.scopes, consents },
      resourceServers: { resourceServers: stores.resourceServers }
    },
    health: {
      async postgres() {
        try {
          await checkWritable(database, WRITTEN_TABLES)
        } finally {
          // Behind such a pooler some statements succeed and some fail.
          await database.refuseSharing?.()
        }
      },
      // A process that is far from Postgres's time must not serve, whatever takes care of what it writes.
      clock: clock.mustAgree,
      // Without it refreshing, revocation and introspection go on, and so do the files that hang on them.
      redis: { needed: 'at start', probe: createRedisProbe(redis) },
      // Without it every token is asked for and every client looked up.
      announcements: { needed: 'never', probe: async () => mustBeVerified(channel) }
    }
  }
}

function mustBeVerified(channel: AppDeps['channel']): void {
  if (!channel.state().isVerified) throw new Error('no proved LISTEN session')
}

/** Makes the value when it is first asked for: a hash takes 19 MiB. A failure is not kept. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}
