import { buildIntrospector, type WatchedIntrospector } from '@valetkey/fastify-bearer'
import {
  buildLogger,
  connectPostgres,
  createDrain,
  type Environment,
  type HealthChecks,
  type Logger,
  refuseFatal,
  settleWithin,
  watchPool
} from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { readConfig } from './config.js'
import { judgeSettings } from './doctor/judge-settings.js'
import { createServerMetrics } from './metrics/server-metrics.js'
import { watchGuard } from './metrics/watch-guard.js'
import { createFileStore, type FileStore } from './storage/files.js'

// Together with the drain of the listeners well below the 15 s after which the process ends itself.
const OPERATOR_LIMIT_MS = 2_000
const DISCONNECT_LIMIT_MS = 4_000

/** `drainDelay` is the part of `close`, in seconds, that is only a wait. */
export type RunningServer = { logger: Logger; drainDelay: number; close(): Promise<void> }

/**
 * Starts the resource server on its two listeners.
 * @throws {ConfigurationError} when a setting is missing or malformed, or none for production
 */
export async function startResourceServer(environment: Environment): Promise<RunningServer> {
  const config = readConfig(environment)
  refuseFatal(judgeSettings(config, { now: new Date() }))
  const logger = buildLogger('resource-server', config.logLevel)
  const database = connectPostgres(config.databaseUrl, { connections: 10, plans: 'kept' })
  const introspector = buildIntrospector(config.introspection, logger)
  const watched = createServerMetrics()
  const { metrics } = watched
  const files = createFileStore(database, watched.listsShared)
  watchPool(metrics, database)
  watchGuard(metrics, introspector)
  metrics.watchProcess()
  const { draining, drain } = createDrain(config.drainDelay)
  const { publicServer, operatorServer } = buildApp(
    { ...config, logger, draining },
    {
      watched,
      introspector,
      files: { files, pageTokenKeys: config.pageTokenKeys },
      health: healthChecks(files, introspector)
    }
  )

  await publicServer.listen(config.publicListen)
  await operatorServer.listen(config.operatorListen)
  logger.info({ event: 'started', resource: config.resourceUrl }, 'resource server started')
  return {
    logger,
    drainDelay: config.drainDelay,
    async close() {
      // Whoever balances learns of it first.
      await drain()
      // Requests first, then the connections under them; a database that does not answer holds up nothing.
      await publicServer.close()
      // Until then it has answered that this process is not ready, and what it still does.
      await settleWithin(OPERATOR_LIMIT_MS, [operatorServer.close()])
      await settleWithin(DISCONNECT_LIMIT_MS, [introspector.close(), database.close()])
    }
  }
}

export function healthChecks(files: Pick<FileStore, 'check'>, introspector: WatchedIntrospector): HealthChecks {
  const { feed } = introspector.statistics()
  return {
    postgres: () => files.check(),
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
  if (statistics().feed?.isProved !== true) throw new Error('the revocation feed is not proved')
}
