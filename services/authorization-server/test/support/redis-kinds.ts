import { createTestRedis, type TestRedis } from '@valetkey/dev-stack'

/** The kinds of Redis: the real server, if this run has one, and the emulation of `npm start`. */
export const REDIS_KINDS: readonly { name: string; create: () => TestRedis }[] = [
  ...(process.env.TEST_REDIS_URL ? [{ name: 'Redis', create: createTestRedis }] : []),
  { name: 'the emulation of Redis', create: createEmulatedRedis }
]

function createEmulatedRedis(): TestRedis {
  const { TEST_REDIS_URL: url } = process.env
  delete process.env.TEST_REDIS_URL
  try {
    return createTestRedis()
  } finally {
    if (url !== undefined) process.env.TEST_REDIS_URL = url
  }
}
