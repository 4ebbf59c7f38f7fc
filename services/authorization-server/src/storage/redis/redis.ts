import { problemOfRedis, type StoreState, StoreUnavailable } from '@valetkey/service-kit'
import { Redis } from 'ioredis'
import { redisOptions } from './redis-options.js'

export type { Redis } from 'ioredis'

/**
 * @param ca certificates of authorities to trust in place of the system's, as PEM
 * @param state hears of connections and commands that fail because of Redis
 */
export function connectRedis(url: string, ca?: string, state?: StoreState): Redis {
  const redis = new Redis(redisOptions(url, ca))
  const note = (error: unknown) => {
    const problem = problemOfRedis(error)
    // Closed by us, it fails all commands.
    if (problem !== undefined && redis.status !== 'end') state?.failed(problem)
  }
  // Every failed command reports by itself; without a listener the process would end.
  redis.on('error', note)
  if (state !== undefined) noteCommands(redis, note)
  return redis
}

// The client introduces itself by them at each connection; it does without, where a server refuses them.
const OPTIONAL = ['client', 'info']

/** Each command passes here, also those of scripts and pipelines. */
function noteCommands(redis: Redis, note: (error: unknown) => void): void {
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    if (!OPTIONAL.includes(command.name)) command.promise.catch(note)
    return send(command, stream)
  }
}

/** Turns whatever Redis answers instead of a result into an outage. */
export function reached<Result>(command: Promise<Result>): Promise<Result> {
  return command.catch(refuse)
}

function refuse(error: unknown): never {
  throw new StoreUnavailable('redis', error)
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
