import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createEmulatedRedis } from '../../lib/stores/emulated-redis.mjs'

let redis: Redis
beforeEach(() => {
  redis = createEmulatedRedis(`a-test-${Math.random()}`)
})
afterEach(() => redis.disconnect())

test('a disconnected client fails its next command, also with a script, until it is connected again', async () => {
  const other = redis.duplicate()
  redis.disconnect()
  await expect(redis.set('key', 'value')).rejects.toThrow()
  await expect(redis.eval("return redis.call('set', KEYS[1], 'value')", 1, 'key')).rejects.toThrow()
  expect(await other.get('key')).toBeNull()
  await redis.connect()
  expect(await redis.set('key', 'value')).toBe('OK')
  expect(await other.get('key')).toBe('value')
})

test('every key has a type, also one that a script has counted', async () => {
  await redis.eval("return redis.call('set', KEYS[1], 1)", 1, 'number')
  await redis.eval("return redis.call('incr', KEYS[1])", 1, 'counter')
  await redis.set('text', 'value')
  await redis.lpush('list', 'value')
  await redis.hset('hash', 'field', 'value')
  const keys = ['number', 'counter', 'text', 'list', 'hash', 'missing']
  const types = ['string', 'string', 'string', 'list', 'hash', 'none']
  for (const client of [redis, redis.duplicate()])
    expect(await Promise.all(keys.map((key) => client.type(key)))).toEqual(types)
})
