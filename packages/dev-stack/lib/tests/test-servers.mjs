// Postgres and Redis for one test run: in the folder of the run, on free ports.
import path from 'node:path'
import { randomSecret } from '../start/secrets.mjs'
import { startEmbeddedPostgres } from '../stores/embedded-postgres.mjs'
import { findRedisServer, startRedis } from '../stores/redis.mjs'

/** @import { Processes } from '../processes/processes.mjs' */
/** @typedef {{ redisUrl?: string | undefined, postgresUrl?: string | undefined }} Given */

// One logical database for each Jest worker; src/test-redis.ts requires them.
const REDIS_DATABASES = 64

/**
 * The servers that `check:redis-cluster` and `check:pooler` have started.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Given}
 */
export const givenServers = ({ TEST_REDIS_CLUSTER_URL, TEST_POOLER_URL, TEST_POSTGRES_URL }) => ({
  redisUrl: TEST_REDIS_CLUSTER_URL,
  // The pooler in front of it is named by TEST_POOLER_URL.
  postgresUrl: TEST_POOLER_URL === undefined ? undefined : TEST_POSTGRES_URL
})

/**
 * @returns the addresses; `redisUrl` is undefined if no Redis server is installed
 * @param {string} directory
 * @param {Processes} processes
 * @param {Given} [given] servers to use instead of own ones
 */
export async function startTestServers(directory, processes, given = {}) {
  /** @param {string} name */
  const filesOf = (name) => ({
    directory: path.join(directory, name),
    logFile: path.join(directory, `${name}.log`)
  })
  const shared = { password: randomSecret(), durable: false, processes }
  const postgresUrl =
    given.postgresUrl ?? (await startEmbeddedPostgres({ ...shared, ...filesOf('postgres') })).url('postgres')
  if (given.redisUrl !== undefined) return { postgresUrl, redisUrl: given.redisUrl }
  const command = findRedisServer()
  const redis =
    command === undefined
      ? undefined
      : await startRedis({ ...shared, ...filesOf('redis'), command, databases: REDIS_DATABASES })
  return { postgresUrl, redisUrl: redis?.url }
}
