import {
  buildLogger,
  connectPostgres,
  createDrain,
  type Environment,
  type Logger,
  refuseFatal,
  settleWithin,
  watchPool
} from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { readConfig } from './config.js'
import { judgeSettings } from './doctor/judge-settings.js'
import { startHousekeeping } from './housekeeping.js'
import { createExpiredRows } from './storage/expired-rows.js'
import { connectRedis, type Redis } from './storage/redis.js'
import { wire } from './wire.js'

/** `drainDelay` is the part of `close`, in seconds, that is only a wait. */
export type RunningServer = { logger: Logger; drainDelay: number; close(): Promise<void> }

// Tables of tokens are of an hour, and statements are named after them.
const POSTGRES = { connections: 10, plans: 'kept by index', renewedAfterSeconds: 3_600 } as const

// Together with the drain of the listeners well below the 15 s after which the process ends itself.
const OPERATOR_LIMIT_MS = 2_000
const FLUSH_LIMIT_MS = 4_000
const DISCONNECT_LIMIT_MS = 2_000

/**
 * Starts the authorization server on its three listeners.
 * @param overrides.redis a client to use instead of `REDIS_URL`, for `npm start` on a machine without a Redis server
 * @throws {ConfigurationError} when a setting is missing or malformed, or none for production
 */
export async function startAuthorizationServer(
  environment: Environment,
  overrides: { redis?: Redis } = {}
): Promise<RunningServer> {
  const given = overrides.redis === undefined ? environment : { ...environment, REDIS_URL: 'redis://given-as-a-client' }
  const config = readConfig(given)
  refuseFatal(judgeSettings(config, { now: new Date() }))
  const logger = buildLogger('authorization-server', config.logLevel)
  const database = connectPostgres(config.databaseUrl, POSTGRES)
  const redis = overrides.redis ?? connectRedis(config.redisUrl, config.redisCa)
  const deps = wire(config, database, redis)
  watchPool(deps.watched.metrics, database)
  deps.watched.metrics.watchProcess()
  const { issuer, trustedProxies } = config
  const { draining, drain } = createDrain(config.drainDelay)
  const { publicServer, internalServer, operatorServer } = buildApp({ issuer, trustedProxies, logger, draining }, deps)

  await publicServer.listen(config.publicListen)
  await internalServer.listen(config.internalListen)
  await operatorServer.listen(config.operatorListen)
  deps.channel.start(logger)
  const keepBuckets = (now: Date) => deps.buckets.keep(now, config.accessTokenTtl)
  const expiredRows = createExpiredRows(database, config)
  const housekeeping = startHousekeeping(expiredRows, keepBuckets, () => new Date(), logger)
  logger.info({ event: 'started', issuer }, 'authorization server started')

  return {
    logger,
    drainDelay: config.drainDelay,
    async close() {
      // Whoever balances learns of it first.
      await drain()
      // Requests first, then what they write in the background, then the connections under both. A store that does not
      // answer may hold up none of it.
      await Promise.all([publicServer.close(), internalServer.close()])
      // Until then it has answered that this process is not ready, and what it still does.
      await settleWithin(OPERATOR_LIMIT_MS, [operatorServer.close()])
      await settleWithin(FLUSH_LIMIT_MS, [
        housekeeping.stop(),
        deps.channel.close(),
        deps.audit.close(),
        ...deps.usages.map((usage) => usage.close())
      ])
      await settleWithin(DISCONNECT_LIMIT_MS, [database.close(), redis.quit()])
      redis.disconnect()
    }
  }
}
