// Postgres and Redis of one benchmark: the servers in the environment, else its own servers, which are removed at the end.
import { randomBytes } from 'node:crypto'
import { totalmem } from 'node:os'
import path from 'node:path'
import { randomSecret } from '../../packages/dev-stack/lib/start/secrets.mjs'
import { administer } from '../../packages/dev-stack/lib/stores/administer.mjs'
import { startEmbeddedPostgres } from '../../packages/dev-stack/lib/stores/embedded-postgres.mjs'
import { findRedisServer, startRedis } from '../../packages/dev-stack/lib/stores/redis.mjs'

export { administer }

// A commit, as in production, waits for the disk. Several servers with a pool each share one Postgres.
const POSTGRES_SETTINGS = [
  'max_connections = 300',
  // A quarter of the memory, as the manual of Postgres recommends. Unused buffers take no memory.
  `shared_buffers = '${Math.floor(totalmem() / 4 / 2 ** 20)}MB'`,
  "maintenance_work_mem = '512MB'",
  "max_wal_size = '4GB'",
  // Parallel workers need shared memory, which a container may not have.
  'max_parallel_maintenance_workers = 0'
]

/**
 * @param names the databases to create
 * @param isDurable whether a commit waits for the disk. Without it, Postgres writes the same bytes to the log except images
 *   of whole pages
 * @returns the URL of each database in the same order, of the server's default database, and of Redis
 */
export async function createStores(names, { directory, processes, environment, isDurable = true }) {
  const { BENCH_POSTGRES_URL, BENCH_REDIS_URL } = environment
  const own = { directory, processes, isDurable }
  const clusterUrl = BENCH_POSTGRES_URL || (await ownPostgres(own))
  const redisUrl = BENCH_REDIS_URL || (await ownRedis(own))
  const suffix = randomBytes(4).toString('hex')
  const databases = names.map((name) => `bench_${name}_${suffix}`)
  for (const database of databases) await administer(clusterUrl, `create database ${database}`)
  return {
    clusterUrl,
    redisUrl,
    databaseUrls: databases.map((database) => Object.assign(new URL(clusterUrl), { pathname: `/${database}` }).href),
    /** The databases of the benchmark's own servers are removed with the servers. */
    async drop() {
      for (const database of BENCH_POSTGRES_URL ? databases : []) {
        await administer(clusterUrl, `drop database if exists ${database} with (force)`).catch((error) => {
          console.error(`${database} is still there: ${error.message}`)
        })
      }
    }
  }
}

async function ownPostgres({ directory, processes, isDurable }) {
  const options = {
    directory: path.join(directory, 'postgres'),
    logFile: path.join(directory, 'postgres.log'),
    password: randomSecret(),
    durable: isDurable,
    processes
  }
  const first = await startEmbeddedPostgres(options)
  await administer(first.url('postgres'), ...POSTGRES_SETTINGS.map((setting) => `alter system set ${setting}`))
  await first.process.stop()
  return (await startEmbeddedPostgres(options)).url('postgres')
}

async function ownRedis({ directory, processes }) {
  const command = findRedisServer()
  if (command === undefined) throw new Error('There is no Redis: install redis-server, or name one in BENCH_REDIS_URL.')
  const files = { directory: path.join(directory, 'redis'), logFile: path.join(directory, 'redis.log') }
  return (await startRedis({ command, ...files, password: randomSecret(), durable: false, processes })).url
}
