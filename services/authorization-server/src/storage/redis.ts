import { StoreUnavailable } from '@valetkey/service-kit'
import { Redis } from 'ioredis'
import { redisOptions } from './redis-options.js'

export type { Redis } from 'ioredis'

/** @param ca certificates of authorities to trust in place of the system's, as PEM */
export function connectRedis(url: string, ca?: string): Redis {
  const redis = new Redis(redisOptions(url, ca))
  // Every failed command reports by itself; without a listener the process would end.
  redis.on('error', () => {})
  return redis
}

/** Turns whatever Redis answers instead of a result into an outage. */
export async function reached<Result>(command: Promise<Result>): Promise<Result> {
  try {
    return await command
  } catch (error) {
    throw new StoreUnavailable('redis', error)
  }
}

/**
 * A Lua script under a name: one round trip, atomic. Declared on the client once a store, which lets ioredis send its
 * hash instead of its text.
 */
export function defineScript(
  redis: Redis,
  name: string,
  lua: string,
  numberOfKeys: number
): (...keysAndArguments: (string | number)[]) => Promise<unknown> {
  redis.defineCommand(name, { lua, numberOfKeys })
  const script: unknown = Reflect.get(redis, name)
  if (typeof script !== 'function') throw new TypeError(`the script ${name} could not be declared`)
  return (...keysAndArguments) => reached(Promise.resolve(script.apply(redis, keysAndArguments)))
}
