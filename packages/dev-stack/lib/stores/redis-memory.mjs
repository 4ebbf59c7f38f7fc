import { Redis } from 'ioredis'

/**
 * @param {string} redisUrl
 * @returns megabytes and keys of Redis in total
 */
export async function redisMemory(redisUrl) {
  const redis = new Redis(redisUrl)
  const info = await redis.info('memory')
  const keys = await redis.dbsize()
  redis.disconnect()
  return { megabytes: Math.round(Number(/used_memory:(\d+)/.exec(info)?.[1]) / 104_857.6) / 10, keys }
}

/**
 * Limits the memory of Redis, for example to `256mb`. Beyond that, Redis refuses writes.
 * @param {string} redisUrl
 * @param {string} limit
 */
export async function limitRedisMemory(redisUrl, limit) {
  const redis = new Redis(redisUrl)
  await redis.config('SET', 'maxmemory', limit)
  redis.disconnect()
}
