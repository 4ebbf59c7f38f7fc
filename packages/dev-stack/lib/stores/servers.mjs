// Postgres and Redis: the servers in the caller's settings, else embedded ones.
import { databases, ensureDatabase } from './databases.mjs'
import { startEmbeddedPostgres } from './embedded-postgres.mjs'
import { findRedisServer, startRedis } from './redis.mjs'

/** @import { Processes } from '../processes/processes.mjs' */
/** @import { DataFiles } from '../checkout.mjs' */
/** @import { Secrets } from '../start/secrets.mjs' */
/** @typedef {{ caller: NodeJS.ProcessEnv, secrets: Secrets, data: DataFiles, processes: Processes }} Tools */

/**
 * @param {Tools} tools
 * @returns the two database addresses and the processes behind them
 */
export async function bringPostgres({ caller, secrets, data, processes }) {
  const { DATABASE_URL, RESOURCE_DATABASE_URL } = caller
  if (DATABASE_URL !== undefined && RESOURCE_DATABASE_URL !== undefined) {
    return { databaseUrl: DATABASE_URL, resourceDatabaseUrl: RESOURCE_DATABASE_URL, remark: 'the given databases' }
  }
  const server = await startEmbeddedPostgres({
    directory: data.postgres,
    password: secrets.postgresPassword,
    durable: true,
    logFile: data.log('postgres'),
    processes
  })
  /**
   * @param {{ database: string, role: string }} names
   * @param {string} password
   */
  const own = async ({ database, role }, password) => {
    await ensureDatabase(server.url('postgres'), { database, role }, password)
    return server.url(database, role, password)
  }
  return {
    databaseUrl: DATABASE_URL ?? (await own(databases.authorization, secrets.authorizationDatabasePassword)),
    resourceDatabaseUrl: RESOURCE_DATABASE_URL ?? (await own(databases.files, secrets.filesDatabasePassword)),
    process: server.process
  }
}

/**
 * @param {Tools} tools
 * @returns `redisUrl`; undefined if Redis must be emulated
 */
export async function bringRedis({ caller, secrets, data, processes }) {
  if (caller.REDIS_URL !== undefined) return { redisUrl: caller.REDIS_URL, remark: 'the given server' }
  const command = findRedisServer()
  if (command === undefined) {
    return { remark: 'emulated, for there is no redis-server on PATH; unfinished sign-ins end when this stops' }
  }
  const server = await startRedis({
    command,
    directory: data.redis,
    password: secrets.redisPassword,
    durable: true,
    logFile: data.log('redis'),
    processes
  })
  return { redisUrl: server.url, process: server.process }
}
