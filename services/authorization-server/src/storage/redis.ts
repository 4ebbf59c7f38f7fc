import { StoreUnavailable } from '@valetkey/service-kit'
import { Redis } from 'ioredis'

export type { Redis } from 'ioredis'

export function connectRedis(url: string): Redis {
  const redis = new Redis(url, {
    enableAutoPipelining: true,
    connectTimeout: 3_000,
    commandTimeout: 3_000,
    maxRetriesPerRequest: 1,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
    // A replica that was a primary a moment ago answers READONLY: look for the primary anew.
    reconnectOnError: (error) => error.message.startsWith('READONLY')
  })
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
