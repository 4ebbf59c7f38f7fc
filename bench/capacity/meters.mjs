// Reads the counters of all processes of an installation, to subtract one reading from another.
import { performance } from 'node:perf_hooks'
import { Redis } from 'ioredis'
import pg from 'pg'
import { familySeconds, machineSeconds, processSeconds } from '../lib/process-seconds.mjs'
import { storeProcesses } from '../lib/store-processes.mjs'

/** Counters of the processor time of each kind of process. */
export const PROCESSES = ['authorizationServer', 'resourceServer', 'postgres', 'redis']

/**
 * @param stores see createStores
 * @param pidsOf see startValetkey
 * @returns `read()`, which returns numbers by name: `seconds`, the processor seconds of each of PROCESSES, `others` (all other
 *   programs), `walBytes` and `walImages` of Postgres, `commands` and `bytes` of Redis
 */
export async function createMeters(stores, pidsOf) {
  const pids = await storeProcesses(stores)
  const redis = new Redis(stores.redisUrl)
  const postgres = new pg.Client({ connectionString: stores.clusterUrl })
  await postgres.connect()

  async function read() {
    // Of other sessions, Postgres publishes WAL statistics with a delay; the position is exact.
    const { rows } = await postgres.query(
      `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes, wal_fpi as images from pg_stat_wal`
    )
    const commands = Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1])
    const memory = await redis.info('memory')
    const of = (name) => Number(new RegExp(`${name}:(\\d+)`).exec(memory)?.[1])
    // Buffers of connections shrink while they are idle.
    const bytes = of('used_memory') - of('mem_clients_normal')
    return { ...seconds(), walBytes: Number(rows[0].bytes), walImages: Number(rows[0].images), commands, bytes }
  }

  function seconds() {
    const { user, system } = process.cpuUsage()
    const own = {
      authorizationServer: processSeconds(pidsOf.authorizationServers),
      resourceServer: processSeconds(pidsOf.resourceServers),
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
