import { randomBytes } from 'node:crypto'
import { defineScript, type Redis } from './redis.js'

/**
 * Checks that Redis executes the commands of the stores, in a script, on two keys that a Redis Cluster stores on different
 * nodes. So it detects a missing permission, a replica, full memory and a Cluster. It leaves no keys.
 */
export function createRedisProbe(redis: Redis): () => Promise<void> {
  const probe = defineScript(redis, 'valetkeyProbe', PROBE, 2)
  return async () => {
    const id = randomBytes(8).toString('hex')
    await probe(`probe:{a}:${id}`, `probe:{b}:${id}`)
  }
}

const PROBE = `
redis.call('SET', KEYS[1], '1', 'PX', 1000)
redis.call('INCR', KEYS[1])
redis.call('DECR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 1000)
redis.call('GETEX', KEYS[1], 'EX', 1)
redis.call('PTTL', KEYS[1])
redis.call('GET', KEYS[2])
return redis.call('DEL', KEYS[1])
`
