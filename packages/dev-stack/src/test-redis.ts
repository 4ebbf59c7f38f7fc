import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import RedisMock from 'ioredis-mock'

/** `url` is undefined where Redis is emulated; then only `client` and its duplicates see the data. */
export type TestRedis = { url: string | undefined; client: Redis; close(): Promise<void> }

/** As many as the Redis of a test run has; no machine runs as many Jest workers. */
const DATABASES = 64

/**
 * An empty Redis: a logical database of the real server where the test run has one (each Jest worker its own, so one at
 * a time in a test file), else an emulation with its own data. Channels of publish and subscribe are the exception: on a
 * real server every worker hears them.
 */
export function createTestRedis(): TestRedis {
  const { TEST_REDIS_URL, JEST_WORKER_ID } = process.env
  return TEST_REDIS_URL ? realRedis(TEST_REDIS_URL, Number(JEST_WORKER_ID ?? 1) % DATABASES) : emulatedRedis()
}

function realRedis(serverUrl: string, database: number): TestRedis {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  const client = new Redis(url.href)
  // Queued before any command of the test. If it fails, so does that command, and says why.
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
  // The emulation keeps one data set for each host name.
  const client = new RedisMock({ host: `emulated-${randomUUID()}` })
  return { url: undefined, client, close: async () => client.disconnect() }
}
