import { buildLogger, connectPostgres, type Environment, type Logger, settleWithin } from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { readConfig } from './config.js'
import { startHousekeeping } from './housekeeping.js'
import { createExpiredRows } from './storage/expired-rows.js'
import { connectRedis, type Redis } from './storage/redis.js'
import { wire } from './wire.js'

export type RunningServer = { logger: Logger; close(): Promise<void> }

// Together with the drain of the listeners well below the 15 s after which the process ends itself.
const FLUSH_LIMIT_MS = 4_000
const DISCONNECT_LIMIT_MS = 2_000

/**
 * Starts the authorization server on its three listeners.
 * @param overrides.redis a client to use instead of `REDIS_URL`, for `npm start` on a machine without a Redis server
 * @throws {ConfigurationError} when a setting is missing or malformed
 */
export async function startAuthorizationServer(
  environment: Environment,
  overrides: { redis?: Redis } = {}
): Promise<RunningServer> {
  const given = overrides.redis === undefined ? environment : { ...environment, REDIS_URL: 'redis://given-as-a-client' }
  const config = readConfig(given)
  const logger = buildLogger('authorization-server', config.logLevel)
  const database = connectPostgres(config.databaseUrl, { connections: 10, plans: 'kept by index' })
  const redis = overrides.redis ?? connectRedis(config.redisUrl)
  const deps = wire(config, database, redis)
  const { issuer, trustedProxies } = config
  const { publicServer, internalServer, operatorServer } = buildApp({ issuer, trustedProxies, logger }, deps)

  await publicServer.listen(config.publicListen)
  await internalServer.listen(config.internalListen)
  await operatorServer.listen(config.operatorListen)
  deps.channel.start(logger)
  const keepBuckets = (now: Date) => deps.buckets.keep(now, config.accessTokenTtl)
  const housekeeping = startHousekeeping(createExpiredRows(database), keepBuckets, () => new Date(), logger)
  logger.info({ event: 'started', issuer }, 'authorization server started')

  return {
    logger,
    async close() {
      // Requests first, then what they write in the background, then the connections under both. A store that does not
      // answer may hold up none of it.
      await Promise.all([publicServer.close(), internalServer.close(), operatorServer.close()])
      await settleWithin(FLUSH_LIMIT_MS, [
        housekeeping.stop(),
        deps.channel.close(),
        deps.audit.close(),
        deps.usage.close()
      ])
      await settleWithin(DISCONNECT_LIMIT_MS, [database.close(), redis.quit()])
      redis.disconnect()
    }
  }
}
