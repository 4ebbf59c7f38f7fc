// Postgres and Redis for one test run: in a temporary folder, on free ports, gone afterwards.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startEmbeddedPostgres } from './embedded-postgres.mjs'
import { isAlive } from './process-table.mjs'
import { findRedisServer, startRedis } from './redis.mjs'
import { randomSecret } from './secrets.mjs'

const PREFIX = 'valetkey-test-'
// One logical database for each Jest worker; src/test-redis.ts counts on them.
const REDIS_DATABASES = 64

/** @returns what the tests need to know, and the folder to remove at the end */
export async function startTestServers(processes) {
  removeLeftovers()
  const directory = mkdtempSync(path.join(tmpdir(), `${PREFIX}${process.pid}-`))
  const log = (name) => path.join(directory, `${name}.log`)
  const shared = { password: randomSecret(), durable: false, processes }
  const postgres = await startEmbeddedPostgres({
    ...shared,
    directory: path.join(directory, 'postgres'),
    logFile: log('postgres')
  })
  const command = findRedisServer()
  const redis =
    command === undefined
      ? undefined
      : await startRedis({
          ...shared,
          command,
          directory: path.join(directory, 'redis'),
          databases: REDIS_DATABASES,
          logFile: log('redis')
        })
  return { directory, postgresUrl: postgres.url('postgres'), redisUrl: redis?.url }
}

/** A run that was killed could not remove its folder; its number in the name tells that it is gone. */
function removeLeftovers() {
  for (const name of readdirSync(tmpdir()).filter((candidate) => candidate.startsWith(PREFIX))) {
    const pid = Number.parseInt(name.slice(PREFIX.length), 10)
    if (isAlive(pid)) continue
    try {
      rmSync(path.join(tmpdir(), name), { recursive: true, force: true })
    } catch {
      // Another user's; it is theirs to remove.
    }
  }
}
