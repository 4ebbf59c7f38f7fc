import { createSecretKey } from 'node:crypto'
import { buildIntrospector, type GuardOptions, type WatchedIntrospector } from '@valetkey/guard'
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
  STOP_LIMITS_MS,
  settleWithin,
  watchBuild,
  watchClock,
  watchDependencies,
  watchDependencyStates,
  watchPool
} from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { createHandOvers } from './choose/hand-overs.js'
import { type Config, readConfig } from './config.js'
import { SELECTION_TYPE } from './files/file-scopes.js'
import { evaluateSettings } from './operator/doctor/evaluate-settings.js'
import { createServerMetrics } from './platform/metrics/server-metrics.js'
import { watchGuard } from './platform/metrics/watch-guard.js'
import { createFileStore, type FileStore } from './storage/files.js'
import { createSelectionStore } from './storage/selections.js'
import { createShownFiles } from './storage/shown-files.js'

// The folder above `dist`, in a checkout and in an image.
const PACKAGE_FILE = new URL('../package.json', import.meta.url)

// This is, with `STOP_LIMITS_MS`, well below the 15 s after which the process exits.
const DISCONNECT_LIMIT_MS = 4_000

/**
 * Starts the resource server on its two listeners.
 * @throws {ConfigurationError} for a setting that is missing, malformed or unsafe in production, and for a wrong clock
 */
export async function startResourceServer(environment: Environment): Promise<RunningService> {
  const config = readConfig(environment)
  refuseFatal(evaluateSettings(config, { now: new Date() }))
  const logger = buildLogger('resource-server', config.logLevel)
  const states = {
    postgres: createStoreState('postgres', logger),
    introspection: createStoreState('authorization_server', logger)
  }
  const pooled = config.databaseDirectUrl !== undefined
  const options = { connections: 10, plans: 'kept', pooled, state: states.postgres } as const
  const database = connectPostgres(config.databaseUrl, options)
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
  const keys = config.pageTokenKeys.map((key) => createSecretKey(key, 'utf8'))
  const { draining, drain } = createDrain(config.drainDelay)
  const { publicServer, operatorServer } = buildApp(
    { ...config, activity: activityOf(config), logger, draining },
    {
      watched,
      introspector,
      files: { files, pageTokenKeys: keys },
      choose: {
        handOvers: createHandOvers({ ...selectionsOf(config), issuer: config.issuer, type: SELECTION_TYPE }),
        selections: createSelectionStore(database),
        shownFiles: createShownFiles(database),
        keys
      },
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
      // First, so that load balancers stop sending requests.
      await drain()
      // Requests end before the connections that they use. Each step has a limit, so an unavailable database delays nothing.
      await settleWithin(STOP_LIMITS_MS.listeners, [publicServer.close()])
      clock.stop()
      // The operator listener closes last: until then /readyz responds 503 and /metrics works.
      await settleWithin(STOP_LIMITS_MS.operatorListener, [operatorServer.close()])
      dependencies.stop()
      await settleWithin(DISCONNECT_LIMIT_MS, [introspector.close(), database.close()])
    }
  }
}

/** Valetkey's endpoint beside introspection. Other authorization servers have none: the guard then stops reporting. */
function activityOf({ introspection: { url, clientId, clientSecret } }: Config): GuardOptions['activity'] {
  return { url: new URL('uses', url).href, clientId, clientSecret }
}

/** Beside introspection as well: who chooses files, and what was chosen. */
function selectionsOf({ introspection: { url, clientId, clientSecret } }: Config) {
  const [startUrl, finishUrl] = [new URL('selections/start', url).href, new URL('selections/finish', url).href]
  return { startUrl, finishUrl, clientId, clientSecret }
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
        // Behind a pooler that shares connections, some statements succeed and some fail.
        await database?.refuseSharing()
      }
    },
    clock: clock.mustAgree,
    introspection: {
      // If the authorization server is unavailable, it is so for all instances: a 503 from here is better than no instance.
      needed: 'at start',
      // This is not a token. Any response to it shows that the URL and the credentials are right.
      probe: async () => introspector.introspect('readiness-check', 'readiness-check')
    },
    // Without the lease, every token is introspected.
    ...(feed && { feed: { needed: 'never', probe: async () => mustHoldLease(introspector) } })
  }
}

function mustHoldLease({ statistics }: WatchedIntrospector): void {
  if (statistics().feed?.isVerified !== true) throw new Error('the revocation feed is not verified')
}
