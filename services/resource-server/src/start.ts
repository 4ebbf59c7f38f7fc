import { buildIntrospector, type WatchedIntrospector } from '@valetkey/fastify-bearer'
import {
  buildLogger,
  type ConnectedDatabase,
  connectPostgres,
  createDatabaseClock,
  createDrain,
  createStoreState,
  type DatabaseClock,
  type Environment,
  type HealthChecks,
  type RunningService,
  refuseFatal,
  refuseWrongClock,
  settleWithin,
  watchBuild,
  watchClock,
  watchDependencies,
  watchDependencyStates,
  watchPool
} from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { readConfig } from './config.js'
import { evaluateSettings } from './operator/doctor/evaluate-settings.js'
import { createServerMetrics } from './platform/metrics/server-metrics.js'
import { watchGuard } from './platform/metrics/watch-guard.js'
import { createFileStore, type FileStore } from './storage/files.js'

// The folder above `dist`, in a checkout and in an image.
const PACKAGE_FILE = new URL('../package.json', import.meta.url)

// Together with the drain of the listeners well below the 15 s after which the process ends itself.
// The listener cuts off what is in flight after 6 s.
const LISTENERS_LIMIT_MS = 6_500
const OPERATOR_LIMIT_MS = 2_000
const DISCONNECT_LIMIT_MS = 4_000

/**
 * Starts the resource server on its two listeners.
 * @throws {ConfigurationError} when a setting is missing or malformed, or none for production, or the clock is wrong
 */
export async function startResourceServer(environment: Environment): Promise<RunningService> {
  const config = readConfig(environment)
  refuseFatal(evaluateSettings(config, { now: new Date() }))
  const logger = buildLogger('resource-server', config.logLevel)
  const states = {
    postgres: createStoreState('postgres', logger),
    introspection: createStoreState('authorization_server', logger)
  }
  const database = connectPostgres(config.databaseUrl, { connections: 10, plans: 'kept', state: states.postgres })
  const clock = createDatabaseClock(database)
  await refuseWrongClock(clock).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const introspector = buildIntrospector(config.introspection, logger)
  const watched = createServerMetrics()
  const { metrics } = watched
  const files = createFileStore(database, watched.listsShared)
  const dependencies = watchDependencies(healthChecks(files, introspector, clock, database), states)
  watchPool(metrics, database)
  watchBuild(metrics, PACKAGE_FILE)
  watchDependencyStates(metrics, Object.values(states))
  watchClock(metrics, clock)
  watchGuard(metrics, introspector)
  metrics.watchProcess()
  const { draining, drain } = createDrain(config.drainDelay)
  const { publicServer, operatorServer } = buildApp(
    { ...config, logger, draining },
    {
      watched,
      introspector,
      files: { files, pageTokenKeys: config.pageTokenKeys },
      now: clock.now,
      health: dependencies.checks
    }
  )

  await publicServer.listen(config.publicListen)
  await operatorServer.listen(config.operatorListen)
  dependencies.start()
  clock.start(logger)
  logger.info({ event: 'started', resource: config.resourceUrl }, 'resource server started')
  return {
    logger,
    drainDelay: config.drainDelay,
    async close() {
      // Whoever balances learns of it first.
      await drain()
      // Requests first, then the connections under them; a database that does not answer holds up nothing.
      await settleWithin(LISTENERS_LIMIT_MS, [publicServer.close()])
      clock.stop()
      // Until then it has answered that this process is not ready, and what it still does.
      await settleWithin(OPERATOR_LIMIT_MS, [operatorServer.close()])
      dependencies.stop()
      await settleWithin(DISCONNECT_LIMIT_MS, [introspector.close(), database.close()])
    }
  }
}

export function healthChecks(
  files: Pick<FileStore, 'check'>,
  introspector: WatchedIntrospector,
  clock: Pick<DatabaseClock, 'mustAgree'>,
  database?: Pick<ConnectedDatabase, 'refuseSharing'>
): HealthChecks {
  const { feed } = introspector.statistics()
  return {
    async postgres() {
      try {
        await files.check()
      } finally {
        // Behind such a pooler some statements succeed and some fail.
        await database?.refuseSharing()
      }
    },
    clock: clock.mustAgree,
    introspection: {
      // An authorization server that is away is away for all instances: a 503 of ours says more than nobody at all.
      needed: 'at start',
      // Not a token, and answered as such: the address is right, and so are our credentials.
      probe: async () => introspector.introspect('readiness-check', 'readiness-check')
    },
    // Without the lease every token is asked for.
    ...(feed && { feed: { needed: 'never', probe: async () => mustHoldLease(introspector) } })
  }
}

function mustHoldLease({ statistics }: WatchedIntrospector): void {
  if (statistics().feed?.isVerified !== true) throw new Error('the revocation feed is not proved')
}
