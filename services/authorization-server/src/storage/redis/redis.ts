import { problemOfRedis, type StoreState, StoreUnavailable } from '@valetkey/service-kit'
import { Redis } from 'ioredis'
import { redisOptions } from './redis-options.js'

export type { Redis } from 'ioredis'

/**
 * @param ca certificates of trusted authorities instead of the system's, as PEM
 * @param state receives failures of connections and commands
 */
export function connectRedis(url: string, ca?: string, state?: StoreState): Redis {
  const redis = new Redis(redisOptions(url, ca))
  const note = (error: unknown) => {
    const problem = problemOfRedis(error)
    // After we close the connection, all commands fail.
    if (problem !== undefined && redis.status !== 'end') state?.failed(problem)
  }
  // Failed commands reject by themselves; without a listener, this event would end the process.
  redis.on('error', note)
  if (state !== undefined) noteCommands(redis, note)
  return redis
}

// ioredis sends them at each connection and works without them, so a refusal is no problem.
const OPTIONAL = ['client', 'info']

/** All commands use `sendCommand`, including those of scripts and pipelines. */
function noteCommands(redis: Redis, note: (error: unknown) => void): void {
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    if (!OPTIONAL.includes(command.name)) command.promise.catch(note)
    return send(command, stream)
  }
}

/** Turns every error of a command into `StoreUnavailable`. */
export function reached<Result>(command: Promise<Result>): Promise<Result> {
  return command.catch(refuse)
}

function refuse(error: unknown): never {
  throw new StoreUnavailable('redis', error)
}

/** An atomic Lua script. Defined once on the client, so that ioredis sends its hash instead of its text. */
export function defineScript(
  redis: Redis,
  name: string,
  lua: string,
  numberOfKeys: number
): (...keysAndArguments: (string | number)[]) => Promise<unknown> {
  redis.defineCommand(name, { lua, numberOfKeys })
  const script: unknown = Reflect.get(redis, name)
  if (typeof script !== 'function') throw new TypeError(`the script ${name} could not be defined`)
  return (...keysAndArguments) => reached(Promise.resolve(script.apply(redis, keysAndArguments)))
}
