import { defineScript, type Redis } from './redis.js'

/**
 * Lists in Redis that keep only the newest values, so that one user cannot fill Redis.
 * @returns a function that adds a value and returns the values that it removed
 */
export function createLatestKeeper(redis: Redis, most: number, lifetimeSeconds: number) {
  const keepLatest = defineScript(redis, 'valetkeyKeepLatest', KEEP, 1)
  return async (key: string, value: string): Promise<readonly string[]> =>
    (await keepLatest(key, value, most, lifetimeSeconds)) as string[]
}

// LREM, because ioredis sends a script again if the connection breaks before the response.
const KEEP = `
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('LPUSH', KEYS[1], ARGV[1])
local dropped = redis.call('LRANGE', KEYS[1], ARGV[2], -1)
redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return dropped
`
