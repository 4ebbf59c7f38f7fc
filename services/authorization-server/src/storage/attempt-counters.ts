import { defineScript, type Redis } from './redis.js'

export type Count = { count: number; remainingSeconds: number }

/** Counters of failed attempts, shared by all instances. A window starts with its first attempt and ends by itself. */
export function createAttemptCounterStore(redis: Redis) {
  const addOne = defineScript(redis, 'valetkeyCountAttempt', ADD, 1)
  const lookAt = defineScript(redis, 'valetkeyLookAtAttempts', LOOK, 1)
  const takeOne = defineScript(redis, 'valetkeyForgetAttempt', TAKE, 1)

  return {
    async add(name: string, windowSeconds: number): Promise<Count> {
      const [count, remainingMs] = (await addOne(key(name), windowSeconds * 1000)) as [number, number]
      return { count, remainingSeconds: Math.max(1, Math.ceil(remainingMs / 1000)) }
    },
    /** How it stands, without counting. */
    async look(name: string): Promise<Count> {
      const [count, remainingMs] = (await lookAt(key(name))) as [number, number]
      return { count, remainingSeconds: Math.max(1, Math.ceil(remainingMs / 1000)) }
    },
    /** Takes one attempt back that was no failure. */
    async forget(name: string): Promise<void> {
      await takeOne(key(name))
    }
  }
}

export type AttemptCounterStore = ReturnType<typeof createAttemptCounterStore>

const key = (name: string): string => `vk:attempts:${name}`

// Redis works for each command of a script as for one that is sent, so none is asked for what is known.
const ADD = `
local count = redis.call('INCR', KEYS[1])
if count > 1 then return {count, redis.call('PTTL', KEYS[1])} end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {count, tonumber(ARGV[1])}
`

const LOOK = `
local count = redis.call('GET', KEYS[1])
if not count then return {0, 0} end
return {tonumber(count), redis.call('PTTL', KEYS[1])}
`

// One that is not there has become -1 now, and goes with those at zero.
const TAKE = `
if redis.call('DECR', KEYS[1]) <= 0 then redis.call('DEL', KEYS[1]) end
return 1
`
