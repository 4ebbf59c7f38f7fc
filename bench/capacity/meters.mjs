// Reads the counters of all processes of an installation, to subtract one reading from another.
import { performance } from 'node:perf_hooks'
import { Redis } from 'ioredis'
import pg from 'pg'
import { familySeconds, machineSeconds, processSeconds } from '../lib/process-seconds.mjs'
import { storeProcesses } from '../lib/store-processes.mjs'

/** Counters of the processor time of each kind of process. */
const PROCESSES = ['authorizationServer', 'resourceServer', 'postgres', 'redis']

/**
 * @param stores see createStores
 * @param pids of the authorization server and of the resource server
 * @returns `read()`, which returns numbers by name: `seconds`, the processor seconds of each of PROCESSES, `others` (all other
 *   programs), `walBytes` of Postgres, `commands` of Redis, and `auditRows`
 */
export async function createMeters(stores, [authorizationServer, resourceServer]) {
  const pids = await storeProcesses(stores)
  const redis = new Redis(stores.redisUrl)
  const postgres = new pg.Client({ connectionString: stores.databaseUrls[0] })
  await postgres.connect()

  async function read() {
    const { rows } = await postgres.query(
      `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes, (select count(*) from audit_events) as audit`
    )
    const commands = Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1])
    return { ...seconds(), walBytes: Number(rows[0].bytes), commands, auditRows: Number(rows[0].audit) }
  }

  function seconds() {
    const { user, system } = process.cpuUsage()
    const own = {
      authorizationServer: processSeconds([authorizationServer]),
      resourceServer: processSeconds([resourceServer]),
      postgres: familySeconds(pids.postgres),
      redis: familySeconds(pids.redis)
    }
    const load = (user + system) / 1e6
    const others = machineSeconds() - load - PROCESSES.reduce((sum, name) => sum + own[name], 0)
    return { seconds: performance.now() / 1_000, ...own, others }
  }

  return {
    read,
    async close() {
      redis.disconnect()
      await postgres.end()
    }
  }
}

/** The difference of each counter. */
export function since(before, after) {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name]]))
}
