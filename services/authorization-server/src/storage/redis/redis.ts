import type { Duplex } from 'node:stream'
import { problemOfRedis, readRedisUrl, type StoreState, StoreUnavailable } from '@valetkey/service-kit'
import { Cluster, type Command, Redis as Server } from 'ioredis'
import { explainClusterFailure } from './cluster-failure.js'
import { COMMAND_TIMEOUT_MS, clusterOptions, redisOptions } from './redis-options.js'

/** One server, the primary of Sentinels, or a Redis Cluster. */
export type Redis = Server | Cluster

/**
 * @param ca certificates of trusted authorities instead of the system's, as PEM
 * @param state receives failures of connections and commands
 */
export function connectRedis(url: string, ca?: string, state?: StoreState): Redis {
  const address = readRedisUrl(url)
  const redis = address.isCluster
    ? new Cluster([...address.hosts], clusterOptions(address, ca))
    : new Server(redisOptions(address, ca))
  const note = (error: unknown) => {
    const problem = problemOfRedis(error)
    // After we close the connection, all commands fail.
    if (problem !== undefined && redis.status !== 'end') state?.failed(problem)
  }
  // Failed commands reject by themselves; without a listener, this event would end the process.
  if (redis instanceof Cluster) {
    limitCommands(redis, { note, explain: (error) => explainClusterFailure(error, address, ca) })
  } else {
    redis.on('error', note)
    writeOnceATurn(redis)
  }
  if (state !== undefined) noteCommands(redis, note)
  return redis
}

/** The servers with data: of a Cluster, every primary that is known. */
export function primariesOf(redis: Redis): readonly Server[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis]
}

/**
 * The limit covers the time in which a Cluster elects another primary, and a command that is sent again because its slot has
 * moved. While no node can be used, a command fails at once with the reason.
 */
function limitCommands(
  cluster: Cluster,
  { note, explain }: { note: (error: unknown) => void; explain: (error: unknown) => Promise<unknown> }
): void {
  let failure: unknown
  let isExplaining = false
  cluster.on('error', async (error: Error) => {
    if (isExplaining) return
    isExplaining = true
    failure = await explain(error)
    isExplaining = false
    if (cluster.status !== 'ready') note(failure)
  })
  const send = cluster.sendCommand.bind(cluster)
  cluster.sendCommand = (command: Command, ...others) => {
    if (cluster.status === 'ready') failure = undefined
    if (failure !== undefined) return Promise.reject(failure)
    command.setTimeout(COMMAND_TIMEOUT_MS)
    return send(command, ...others)
  }
}

/**
 * Sends the commands of one turn of the event loop in one write. The automatic pipelines of ioredis do that, too, but cost a third
 * of a command (npm run bench:gates).
 */
function writeOnceATurn(redis: Server & { stream?: Duplex }): void {
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    const socket = redis.stream
    if (socket !== undefined && socket.writableCorked === 0) {
      socket.cork()
      setImmediate(() => socket.uncork())
    }
    return send(command, stream)
  }
}

// ioredis sends them at each connection and works without them, so a refusal is no problem.
const OPTIONAL = ['client', 'info']

/** All commands use `sendCommand`, including those of scripts and pipelines. */
function noteCommands(redis: Redis, note: (error: unknown) => void): void {
  const send: Cluster['sendCommand'] = redis.sendCommand.bind(redis)
  redis.sendCommand = (command: Command, stream?: Parameters<typeof send>[1], node?: unknown) => {
    if (!OPTIONAL.includes(command.name)) command.promise.catch(note)
    return send(command, stream, node)
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
