import {
  type ConnectedDatabase,
  createDatabaseClock,
  type Database,
  type DatabaseClock,
  type Logger,
  type StoreState,
  watchClock,
  watchDependencies
} from '@valetkey/service-kit'
import type { AppDeps, PublicDeps } from '../app.js'
import { cookiePolicy } from '../browser/session/cookies.js'
import type { Config } from '../config.js'
import type { Feature } from '../feature.js'
import type { RevocationChannel } from '../feed/revocation-channel.js'
import { readPageFiles } from '../http/page-files.js'
import { observeRefusals } from '../http/refusal-observer.js'
import { createRecordAuthentication } from '../platform/encryption/authenticate-records.js'
import { createServerMetrics } from '../platform/metrics/server-metrics.js'
import { watchChannel, watchTokens } from '../platform/metrics/watch.js'
import { type CodeReturns, createCodeReturns } from '../protocol/token/give-back-codes.js'
import type { AccessTokenBuckets } from '../storage/postgres/access-token-buckets.js'
import type { SessionCheck } from '../storage/postgres/sessions.js'
import type { Redis } from '../storage/redis/redis.js'
import { type ExaminationFacts, examineProcess } from './examination.js'
import { wireChannel, wireInternal } from './internal.js'
import { wireHealthChecks, wireOperator } from './operator.js'
import { createPlatform, type Platform } from './platform.js'
import { wirePublic } from './public.js'
import { createStores, type Stores } from './stores.js'

/** A pool can do more than run statements; the database of a test may lack that. */
type PooledDatabase = Database & Partial<Pick<ConnectedDatabase, 'giveUpOne' | 'refuseSharing'>>

type WireOptions = {
  features: readonly Feature[]
  /** The only clock that steps and stores read. */
  clock?: DatabaseClock
  /** The logger of lines that belong to no request. */
  logger?: Logger | undefined
  /** Availability of the stores, by the name of their health check. */
  states?: Readonly<Record<string, StoreState>>
  /** What only the start of the process knows of the settings. */
  examination?: Omit<ExaminationFacts, 'pages' | 'features'>
}

/**
 * Creates what every surface and the process need, from the two stores.
 * @returns also what only the start and the stop of the process use; the stop flushes and closes `closeables`
 */
export function wire(
  config: Config,
  database: PooledDatabase,
  redis: Redis,
  { features, clock = createDatabaseClock(database), logger, states = {}, examination = {} }: WireOptions
): AppDeps & {
  closeables: readonly { close(): Promise<void> }[]
  channel: RevocationChannel
  buckets: AccessTokenBuckets
  returns: CodeReturns
} {
  const watched = createServerMetrics()
  const records = createRecordAuthentication(config.cookieKeys, (kind) => {
    watched.forgedRecord(kind)
    logger?.warn({ event: 'redis_record_forged', kind }, 'a record in Redis failed its authentication')
  })
  const { atLeastEvery: signInAtLeastEvery } = config.signIn
  // Requests call it, after the features have started.
  const isDiscoverable = (clientId: string) => finder?.accepts(clientId) === true
  const hasEnded: SessionCheck = async (way) => {
    for (const check of sessionChecks) if (await check(way)) return true
    return false
  }
  const stores = createStores({
    database,
    redis,
    records,
    watched,
    isDiscoverable,
    hasEnded,
    signInAtLeastEvery,
    limitsFactor: config.limitsFactor
  })
  const platform = createPlatform(config, stores, watched, { features, now: clock.now, logger })
  const returns = createCodeReturns(stores.codes)
  const channel = wireChannel(config, database, stores, async () => database.giveUpOne?.())
  const checks = wireHealthChecks(database, async () => database.refuseSharing?.(), stores, clock, channel)
  watchChannel(watched.metrics, channel)
  watchTokens(watched.metrics, stores.buckets)
  watchClock(watched.metrics, clock)

  const session = wireSessions(config, stores, platform)
  const parts = { config, database, redis, records, stores, platform, watched, session }
  const surfaces = features.flatMap((feature) => feature.start?.(parts) ?? [])
  const finder = surfaces.find(({ clientFinder }) => clientFinder !== undefined)?.clientFinder
  const sessionChecks = surfaces.flatMap((added) => added.hasEnded ?? [])
  const refusals = observeRefusals(surfaces.flatMap(({ refusalObserver }) => refusalObserver ?? []))

  const files = readPageFiles(config.pagesDir, features)
  const forBrowsers = wirePublic(config, stores, platform, { returns, finder, session, refusals, surfaces, files })
  const countWaitingApps = surfaces.find((added) => added.countWaitingApps !== undefined)?.countWaitingApps
  const examined = { database, redis, countWaitingApps, facts: { ...examination, pages: files, features } }

  return {
    watched,
    audit: platform.audit,
    refusals,
    features: surfaces,
    closeables: [...Object.values(platform.usage), ...surfaces.flatMap((added) => added.closeables ?? [])],
    channel,
    buckets: stores.buckets,
    returns,
    dependencies: watchDependencies(checks, states),
    ...forBrowsers,
    ...wireInternal(config, stores, platform, watched, channel),
    ...wireOperator(config, stores, platform, () => examineProcess(config, examined))
  }
}

function wireSessions(
  { issuer, signIn }: Config,
  { sessions, users }: Stores,
  { usage, now }: Platform
): PublicDeps['session'] {
  const { atLeastEvery: signInAtLeastEvery } = signIn
  return { cookies: cookiePolicy(issuer), sessions, users, sessionUses: usage.sessions, signInAtLeastEvery, now }
}
