import { Cluster } from 'ioredis'
import { primariesOf, type Redis, reached } from './redis.js'

export type RedisState = {
  version: string
  /** Milliseconds since 1970, by the clock of Redis. */
  now: number
  evictionPolicy: string
  maxMemory: number
  appendOnly: boolean
  /** Whether snapshots are written; undefined if the user has no permission to read the configuration. */
  snapshots: boolean | undefined
}

export type RedisClusterState = {
  /** Whether every key has a node. */
  isComplete: boolean
  primaries: readonly { address: string; replicas: number }[]
}

/** Each server with data, and its address. */
export function redisServers(redis: Redis): readonly { address: string; server: Redis }[] {
  return primariesOf(redis).map((server) => ({ address: `${server.options.host}:${server.options.port}`, server }))
}

/** @returns undefined without a Cluster @throws {StoreUnavailable} */
export async function readRedisClusterState(redis: Redis): Promise<RedisClusterState | undefined> {
  if (!(redis instanceof Cluster)) return undefined
  const info = await reached(redis.cluster('INFO'))
  const ranges = await reached(redis.cluster('SLOTS'))
  const replicas = new Map<string, number>()
  for (const [, , primary, ...others] of ranges) replicas.set(`${primary?.[0]}:${primary?.[1]}`, others.length)
  return {
    isComplete: /^cluster_state:ok\r?$/m.test(info),
    primaries: [...replicas].map(([address, count]) => ({ address, replicas: count }))
  }
}

/** @throws {StoreUnavailable} */
export async function readRedisState(redis: Redis): Promise<RedisState> {
  const [seconds = 0, microseconds = 0] = (await reached(redis.time())).map(Number)
  const now = seconds * 1_000 + microseconds / 1_000
  const info = await reached(redis.info())
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  return {
    version: field('redis_version'),
    now,
    evictionPolicy: field('maxmemory_policy'),
    maxMemory: Number(field('maxmemory') || 0),
    appendOnly: field('aof_enabled') === '1',
    snapshots: await readSnapshots(redis)
  }
}

async function readSnapshots(redis: Redis): Promise<boolean | undefined> {
  try {
    const reply: unknown = await redis.config('GET', 'save')
    return Array.isArray(reply) ? reply[1] !== '' : undefined
  } catch {
    // The service does not need this permission, and hosting providers often withhold it.
    return undefined
  }
}
