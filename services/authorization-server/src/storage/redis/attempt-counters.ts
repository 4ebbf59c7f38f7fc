import { defineScript, type Redis } from './redis.js'

/** Counters of failed attempts, shared by all processes. A window starts with the first failure and then expires. */
export function createAttemptCounterStore(redis: Redis) {
  const addOne = defineScript(redis, 'valetkeyCountFailure', ADD, 1)
  const lookAt = defineScript(redis, 'valetkeyLookAtFailures', LOOK, 1)

  return {
    /**
     * Counts a failure, up to `most`: further failures neither extend the window nor raise the number.
     * @returns `counted` is false if `most` was reached before
     */
    async add(
      name: string,
      most: number,
      windowSeconds: number
    ): Promise<{ counted: boolean; remainingSeconds: number }> {
      const [counted, remainingMs] = (await addOne(key(name), most, windowSeconds * 1000)) as [number, number]
      return { counted: counted === 1, remainingSeconds: inSeconds(remainingMs) }
    },
    /** The number of failures; counts nothing. */
    async look(name: string): Promise<{ count: number; remainingSeconds: number }> {
      const [count, remainingMs] = (await lookAt(key(name))) as [number, number]
      return { count, remainingSeconds: inSeconds(remainingMs) }
    }
  }
}

export type AttemptCounterStore = ReturnType<typeof createAttemptCounterStore>

const key = (name: string): string => `vk:attempts:${name}`

const inSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000))

// Each command of a script costs Redis as much as one from a client, so a new window is not read again (`npm run bench:gates`
// counts the commands of scripts).
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
