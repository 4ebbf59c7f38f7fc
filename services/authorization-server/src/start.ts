import {
  atOwnAddress,
  buildLogger,
  connectPostgres,
  createDatabaseClock,
  createDrain,
  createStoreState,
  type Environment,
  fileChangedAt,
  type RunningService,
  refuseFatal,
  refuseWrongClock,
  STOP_LIMITS_MS,
  settleWithin,
  watchBuild,
  watchDependencyStates,
  watchPool
} from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { readConfig } from './config.js'
import type { Feature } from './feature.js'
import { evaluateSettings } from './operator/doctor/evaluate-settings.js'
import { startHousekeeping } from './platform/housekeeping.js'
import { createExpiredRows } from './storage/postgres/expired-rows.js'
import { connectRedis, type Redis } from './storage/redis/redis.js'
import { wire } from './wire/wire.js'

// Each table of access tokens has its own statements; renewed connections drop those of past tables.
const POSTGRES = { connections: 10, plans: 'kept by index', renewedAfterSeconds: 3_600 } as const

// The file is in the folder above `dist`, both in a checkout and in an image.
const PACKAGE_FILE = new URL('../package.json', import.meta.url)

// This is, with `STOP_LIMITS_MS`, below the 15 s after which the process exits.
const FLUSH_LIMIT_MS = 4_000
const DISCONNECT_LIMIT_MS = 2_000

/**
 * Starts the authorization server on its three listeners.
 * @param overrides.redis a client to use instead of a connection to `REDIS_URL`, for `npm start` on a machine without a
 * Redis server
 * @throws {ConfigurationError} when a setting is missing, malformed or unsafe for production, or the clock is wrong
 */
export async function startAuthorizationServer(
  environment: Environment,
  features: readonly Feature[],
  overrides: { redis?: Redis } = {}
): Promise<RunningService> {
  const config = readConfig(environment)
  refuseFatal(evaluateSettings(config, { now: new Date() }))
  const logger = buildLogger('authorization-server', config.logLevel)
  const states = { postgres: createStoreState('postgres', logger), redis: createStoreState('redis', logger) }
  const pooled = config.databaseDirectUrl !== undefined
  const database = connectPostgres(config.databaseUrl, { ...POSTGRES, pooled, state: states.postgres })
  const clock = createDatabaseClock(database)
  await refuseWrongClock(clock).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const redis = overrides.redis ?? connectRedis(config.redisUrl, config.redisCa, states.redis)
  const examination = { cookieKeysChangedAt: fileChangedAt(environment, 'COOKIE_KEYS') }
  const deps = wire(config, database, redis, { features, clock, logger, states, examination })
  watchPool(deps.watched.metrics, database)
  watchBuild(deps.watched.metrics, PACKAGE_FILE)
  watchDependencyStates(deps.watched.metrics, Object.values(states))
  deps.watched.metrics.watchProcess()
  const { issuer, trustedProxies } = config
  const { draining, drain } = createDrain(config.drainDelay)
  const { publicServer, internalServer, operatorServer } = buildApp({ issuer, trustedProxies, logger, draining }, deps)

  await publicServer.listen(config.publicListen)
  await internalServer.listen(await atOwnAddress(config.internalListen))
  await operatorServer.listen(await atOwnAddress(config.operatorListen))
  deps.dependencies.start()
  clock.start(logger)
  deps.channel.start(logger)
  const keepBuckets = () => deps.buckets.keep(config.accessTokenTtl)
  const expiredRows = createExpiredRows(database, config)
  const tasks = {
    periodicTasks: [keepBuckets, ...deps.features.flatMap((feature) => feature.periodicTasks ?? [])],
    expiryTasks: deps.features.flatMap((feature) => feature.expiryTasks ?? [])
  }
  const housekeeping = startHousekeeping(expiredRows, tasks, logger)
  logger.info({ event: 'started', issuer }, 'authorization server started')

  return {
    logger,
    drainDelay: config.drainDelay,
    async close() {
      // First, so that load balancers stop sending requests.
      await drain()
      // Requests first, then background writes, then the connections of both. Each step has a time limit, in case a store
      // does not respond.
      await settleWithin(STOP_LIMITS_MS.listeners, [publicServer.close(), internalServer.close()])
      // The operator listener closes after the others: until here it serves /readyz and /metrics.
      await settleWithin(STOP_LIMITS_MS.operatorListener, [operatorServer.close()])
      deps.dependencies.stop()
      clock.stop()
      deps.returns.close()
      await settleWithin(FLUSH_LIMIT_MS, [
        housekeeping.stop(),
        deps.channel.close(),
        deps.audit.close(),
        ...deps.closeables.map((each) => each.close())
      ])
      await settleWithin(DISCONNECT_LIMIT_MS, [database.close(), redis.quit()])
      redis.disconnect()
    }
  }
}
