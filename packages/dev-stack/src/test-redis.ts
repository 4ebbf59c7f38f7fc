import { randomUUID } from 'node:crypto'
import { Cluster, Redis } from 'ioredis'
import { createEmulatedRedis } from '../lib/stores/emulated-redis.mjs'

/** `url` is undefined if Redis is emulated; then only `client` and its duplicates see the data. */
export type TestRedis = { url: string | undefined; client: Redis; close(): Promise<void> }

/** The number of logical databases in the Redis of a test run; higher than the number of Jest workers. */
const DATABASES = 64

/**
 * An empty Redis: a logical database of the real server if the test run has one, else an emulation with its own data. Each
 * Jest worker has one logical database, so a test file uses one at a time. Published messages reach all workers of a real
 * server.
 */
export function createTestRedis(): TestRedis {
  const { TEST_REDIS_URL, JEST_WORKER_ID } = process.env
  if (!TEST_REDIS_URL) return emulatedRedis()
  if (TEST_REDIS_URL.startsWith('redis+cluster:')) return redisCluster(TEST_REDIS_URL)
  return realRedis(TEST_REDIS_URL, Number(JEST_WORKER_ID ?? 1) % DATABASES)
}

/** A Redis Cluster has one database, so only one Jest worker may use it. `keys`, `dbsize` and `flushdb` are of all nodes. */
function redisCluster(clusterUrl: string): TestRedis {
  const { hostname: host, port, password } = new URL(clusterUrl.replace(/^redis.cluster:([^,]*).*/, 'http:$1'))
  const client = new Cluster([{ host, port: Number(port) }], { redisOptions: { password } })
  const ready = new Promise<void>((resolve) => client.once('ready', resolve))
  const onAll = async <Result>(ask: (node: Redis) => Promise<Result>): Promise<Result[]> => {
    await ready
    return Promise.all(client.nodes('master').map(ask))
  }
  client.flushdb = async () => (await onAll((node) => node.flushdb()))[0] ?? 'OK'
  client.dbsize = async () => (await onAll((node) => node.dbsize())).reduce((sum, keys) => sum + keys, 0)
  client.keys = async (pattern: string) => (await onAll((node) => node.keys(pattern))).flat()
  client.flushdb().catch(() => {})
  return {
    url: clusterUrl,
    // Tests only send commands, which both have.
    client: client as unknown as Redis,
    close: async () => {
      await client.quit()
    }
  }
}

function realRedis(serverUrl: string, database: number): TestRedis {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  const client = new Redis(url.href)
  // Queued before all commands of the test. If it fails, the first of them fails with its error.
  client.flushdb().catch(() => {})
  return {
    url: url.href,
    client,
    close: async () => {
      await client.quit()
    }
  }
}

function emulatedRedis(): TestRedis {
  const client = createEmulatedRedis(`emulated-${randomUUID()}`)
  return { url: undefined, client, close: async () => client.disconnect() }
}
