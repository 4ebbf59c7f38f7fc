// Postgres and Redis for one test run: in the folder of the run, on free ports.
import path from 'node:path'
import { randomSecret } from '../start/secrets.mjs'
import { startEmbeddedPostgres } from '../stores/embedded-postgres.mjs'
import { findRedisServer, startRedis } from '../stores/redis.mjs'

// One logical database for each Jest worker; src/test-redis.ts requires them.
const REDIS_DATABASES = 64

/**
 * @param redisUrl a Redis to use instead of an own one
 * @returns the addresses; `redisUrl` is undefined if no Redis server is installed
 */
export async function startTestServers(directory, processes, redisUrl) {
  const filesOf = (name) => ({
    directory: path.join(directory, name),
    logFile: path.join(directory, `${name}.log`)
  })
  const shared = { password: randomSecret(), durable: false, processes }
  const postgres = await startEmbeddedPostgres({ ...shared, ...filesOf('postgres') })
  if (redisUrl !== undefined) return { postgresUrl: postgres.url('postgres'), redisUrl }
  const command = findRedisServer()
  const redis =
    command === undefined
      ? undefined
      : await startRedis({ ...shared, ...filesOf('redis'), command, databases: REDIS_DATABASES })
  return { postgresUrl: postgres.url('postgres'), redisUrl: redis?.url }
}
