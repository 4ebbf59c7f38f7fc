import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { createRandomPool, type Database, openNotificationChannel } from '@valetkey/service-kit'
import type { AppDeps } from './app.js'
import { createAuditTrail } from './audit/audit-trail.js'
import type { Config } from './config.js'
import { createRevocationChannel } from './feed/revocation-channel.js'
import { loadBranding } from './http/branding.js'
import { loadLanguages } from './language/language.js'
import { createLimiter } from './limits/limiter.js'
import { countDecisions } from './metrics/audit-metrics.js'
import { createServerMetrics } from './metrics/server-metrics.js'
import { watchChannel, watchPasswordQueue, watchTokens } from './metrics/watch.js'
import { hashPassword } from './passwords/password.js'
import { createPasswordQueue } from './passwords/password-queue.js'
import { createRegistry } from './registry/registry.js'
import { cookiePolicy } from './session/cookies.js'
import { newRandomId } from './session/random-id.js'
import { createAccessTokenBuckets } from './storage/access-token-buckets.js'
import { createAccessTokenStore } from './storage/access-tokens.js'
import { createAttemptCounterStore } from './storage/attempt-counters.js'
import { createAuditEntryStore } from './storage/audit-entries.js'
import { createAuditEventStore } from './storage/audit-events.js'
import { createClientChangeStore } from './storage/client-changes.js'
import { createClientSecretStore } from './storage/client-secrets.js'
import { createClientStore } from './storage/clients.js'
import { createCodeStore } from './storage/codes.js'
import { createConnectedAppStore } from './storage/connected-apps.js'
import { createConsentStore } from './storage/consents.js'
import { createGrantedAccessStore } from './storage/granted-access.js'
import { createGrantStore } from './storage/grants.js'
import { createIntrospectionStore } from './storage/introspections.js'
import { createOperatorKeyStore } from './storage/operator-keys.js'
import { createPendingRequestStore } from './storage/pending-requests.js'
import { type Redis, reached } from './storage/redis.js'
import { createRefreshTokenStore } from './storage/refresh-tokens.js'
import { createRegistryAnnouncements } from './storage/registry-announcements.js'
import { createResourceServerStore } from './storage/resource-servers.js'
import { createScopeStore } from './storage/scopes.js'
import { createSessionStore } from './storage/sessions.js'
import { createUserStore } from './storage/users.js'
import { createUsage } from './usage/usage.js'

// One processor stays free for everything else, and one of libuv's four threads for files and names. A hundred waiting
// are a few seconds; whoever comes after them is better told so.
const PASSWORD_QUEUE = { atOnce: Math.max(1, Math.min(3, availableParallelism() - 1)), waiting: 100 }

// As `announce_revocation` and `announce_registry_change` in the migrations name them.
const REVOCATIONS = 'valetkey_revocations'
const REGISTRY = 'valetkey_registry'

// Well below the minute after which a silent connection is cut, here or by a proxy.
const KEEP_ALIVE_MS = 15_000

/** Which store each step gets: the one page where storage and steps meet. */
export function wire(config: Config, database: Database, redis: Redis): AppDeps {
  const now = () => new Date()
  const { issuer, cookieKeys } = config
  const watched = createServerMetrics()
  const { metrics, batchOf } = watched
  const audit = countDecisions(metrics, createAuditTrail(createAuditEventStore(database), now))
  const buckets = createAccessTokenBuckets(database)
  const accessTokens = createAccessTokenStore(database, buckets)
  const connectedApps = createConnectedAppStore(database)
  const codes = createCodeStore(redis, now)
  const consents = createConsentStore(database)
  const operatorKeys = createOperatorKeyStore(database)
  const grants = createGrantStore(database, buckets, { opening: batchOf('authorize'), redemption: batchOf('exchange') })
  const pending = createPendingRequestStore(redis)
  const refreshTokens = createRefreshTokenStore(database, buckets, batchOf('refresh'))
  const sessions = createSessionStore(redis)
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
  const judge = { clients, resourceServers, defaultAudience: config.resourceUrl }
  const randomPool = createRandomPool()
  const issue = { grants, codes, audit, codeTtl: config.codeTtl, now, randomBytes: randomPool }
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
        ear.lost
      ),
    registry: registry.follower,
    newId: () => randomBytes(16).toString('base64url'),
    monotonicNow: () => performance.now()
  })
  watchChannel(metrics, channel)
  watchPasswordQueue(metrics, passwordQueue)
  watchTokens(metrics, buckets, now)

  return {
    watched,
    audit,
    usages: Object.values(usage),
    channel,
    buckets,
    pages: { issuer, languages: loadLanguages(), branding: loadBranding(config) },
    scopes,
    session,
    authorize: { issuer, judge, pending, consents, issue },
    login: { issuer, cookieKeys, judge, pending, session, signIn: { users, passwordQueue, limiter, audit, decoyHash } },
    consent: {
      issuer,
      cookieKeys,
      judge,
      pending,
      consents,
      scopes,
      lifetimes,
      decide: { issuer, pending, consents, issue },
      repeat: { pending, codes }
    },
    account: { issuer, cookieKeys, apps: connectedApps, scopes, audit, now },
    token: {
      authentication,
      redemption: { codes, grants, audit, lifetimes, now, randomBytes: randomPool },
      refresh: {
        refreshTokens,
        grants,
        audit,
        lifetimes,
        retryWindow: config.refreshRetryWindow,
        now,
        randomBytes: randomPool
      }
    },
    revocation: { authentication, revocation: { accessTokens, refreshTokens, audit, now } },
    introspection: {
      issuer,
      resourceServers,
      introspections: createIntrospectionStore(database, buckets, batchOf('introspect')),
      usage,
      onAnswer: watched.introspected,
      now
    },
    feed: { channel, resourceServers, usage: usage.resourceServers, keepAliveMs: KEEP_ALIVE_MS },
    admin: {
      authentication: { operatorKeys, limiter, audit, now },
      operatorKeys: { operatorKeys, now },
      users: { users, hashPassword: (password) => passwordQueue.run(() => hashPassword(password)), now },
      grants: { grants: createGrantedAccessStore(database), users, clients, consents, now },
      audit: { entries: createAuditEntryStore(database), now },
      clients: { ...stores, consents, now },
      scopes: { scopes: stores.scopes, consents, now },
      resourceServers: { resourceServers: stores.resourceServers, now }
    },
    health: {
      postgres: () => database.query({ name: 'ping', text: 'select 1 from users limit 1', values: [] }),
      // Without it refreshing, revocation and introspection go on, and so do the files that hang on them.
      redis: { needed: 'at start', probe: () => reached(redis.ping()) },
      // Without it every token is asked for and every client looked up.
      announcements: { needed: 'never', probe: async () => channel.mustBeProved() }
    }
  }
}

/**
 * Makes it when it is first asked for: a hash takes 19 MiB, and a process that nobody signs in at needs none. A failure is
 * not kept.
 */
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
