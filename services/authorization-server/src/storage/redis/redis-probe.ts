import { randomBytes } from 'node:crypto'
import { Cluster } from 'ioredis'
import { defineScript, type Redis } from './redis.js'

/** These are enough that each primary of a usual Cluster has one of these keys. */
const KEYS_IN_CLUSTER = 16

/**
 * Checks that Redis executes the commands of the stores, in a script, on two keys that a Redis Cluster stores on different
 * nodes. So it detects a missing permission, a replica, full memory and a Cluster behind the URL of one server. Of a Cluster
 * one primary is enough: while another one fails over, most requests succeed. It leaves no keys.
 */
export function createRedisProbe(redis: Redis): () => Promise<void> {
  const probe = defineScript(redis, 'valetkeyProbe', PROBE, 2)
  return async () => {
    const id = randomBytes(8).toString('hex')
    if (redis instanceof Cluster)
      await oneOf(KEYS_IN_CLUSTER, (slot) => probe(`probe:{${id}${slot}}:a`, `probe:{${id}${slot}}:b`))
    else await probe(`probe:{a}:${id}`, `probe:{b}:${id}`)
  }
}

async function oneOf(count: number, attempt: (number: number) => Promise<unknown>): Promise<void> {
  const attempts = Array.from({ length: count }, (_, number) => attempt(number))
  await Promise.any(attempts).catch(({ errors }: AggregateError) => {
    throw errors[0]
  })
}

const PROBE = `
redis.call('SET', KEYS[1], '1', 'PX', 1000)
redis.call('INCR', KEYS[1])
redis.call('DECR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 1000)
redis.call('LPOS', KEYS[2], '1')
redis.call('PTTL', KEYS[1])
redis.call('GET', KEYS[2])
return redis.call('DEL', KEYS[1])
`
