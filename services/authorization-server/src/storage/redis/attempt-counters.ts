import { defineScript, type Redis } from './redis.js'

/** Counters of failed attempts, shared by all instances. A window starts with its first failure and ends by itself. */
export function createAttemptCounterStore(redis: Redis) {
  const addOne = defineScript(redis, 'valetkeyCountFailure', ADD, 1)
  const lookAt = defineScript(redis, 'valetkeyLookAtFailures', LOOK, 1)

  return {
    /**
     * Counts a failure, but never more than `most`: a flood cannot make a key live longer or hold a larger number.
     * @returns `counted` false when there were that many already
     */
    async add(
      name: string,
      most: number,
      windowSeconds: number
    ): Promise<{ counted: boolean; remainingSeconds: number }> {
      const [counted, remainingMs] = (await addOne(key(name), most, windowSeconds * 1000)) as [number, number]
      return { counted: counted === 1, remainingSeconds: inSeconds(remainingMs) }
    },
    /** How many there were, without counting. */
    async look(name: string): Promise<{ count: number; remainingSeconds: number }> {
      const [count, remainingMs] = (await lookAt(key(name))) as [number, number]
      return { count, remainingSeconds: inSeconds(remainingMs) }
    }
  }
}

export type AttemptCounterStore = ReturnType<typeof createAttemptCounterStore>

const key = (name: string): string => `vk:attempts:${name}`

const inSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000))

// Redis works for each command of a script as for one that is sent, so none is asked for what is known.
const ADD = `
local count = redis.call('GET', KEYS[1])
if not count then
  redis.call('SET', KEYS[1], 1, 'PX', ARGV[2])
  return {1, tonumber(ARGV[2])}
end
local remaining = redis.call('PTTL', KEYS[1])
if tonumber(count) >= tonumber(ARGV[1]) then return {0, remaining} end
redis.call('INCR', KEYS[1])
return {1, remaining}
`

const LOOK = `
local count = redis.call('GET', KEYS[1])
if not count then return {0, 0} end
return {tonumber(count), redis.call('PTTL', KEYS[1])}
`
