// Postgres and Redis of one benchmark: servers that the environment names, else throw-away ones as `npm test` brings.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { startTestServers } from '../../packages/dev-stack/lib/test-servers.mjs'

/**
 * @param names the databases to make
 * @returns the address of each database, in the same order, and that of Redis
 */
export async function createStores(names, { directory, processes, environment }) {
  const { BENCH_POSTGRES_URL, BENCH_REDIS_URL } = environment
  const own = BENCH_POSTGRES_URL && BENCH_REDIS_URL ? undefined : await startTestServers(directory, processes)
  const clusterUrl = BENCH_POSTGRES_URL || own.postgresUrl
  const redisUrl = BENCH_REDIS_URL || own.redisUrl
  if (redisUrl === undefined)
    throw new Error('There is no Redis: install redis-server, or name one in BENCH_REDIS_URL.')
  const suffix = randomBytes(4).toString('hex')
  const databases = names.map((name) => `bench_${name}_${suffix}`)
  for (const database of databases) await administer(clusterUrl, `create database ${database}`)
  return {
    redisUrl,
    databaseUrls: databases.map((database) => Object.assign(new URL(clusterUrl), { pathname: `/${database}` }).href),
    /** The throw-away ones go with their processes. */
    async drop() {
      for (const database of BENCH_POSTGRES_URL ? databases : []) {
        await administer(clusterUrl, `drop database if exists ${database} with (force)`).catch((error) => {
          console.error(`${database} is still there: ${error.message}`)
        })
      }
    }
  }
}

async function administer(url, statement) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
