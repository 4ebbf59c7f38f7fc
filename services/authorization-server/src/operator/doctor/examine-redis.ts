import { once } from 'node:events'
import {
  type Finding,
  fatal,
  measureClock,
  ok,
  problemOfRedis,
  readRedisUrl,
  StoreUnavailable
} from '@valetkey/service-kit'
import type { Config } from '../../config.js'
import { explainClusterFailure } from '../../storage/redis/cluster-failure.js'
import { connectRedis, type Redis } from '../../storage/redis/redis.js'
import { CONNECT_TIMEOUT_MS } from '../../storage/redis/redis-options.js'
import { createRedisProbe } from '../../storage/redis/redis-probe.js'
import { readRedisClusterState, readRedisState, redisServers } from '../../storage/redis/redis-state.js'
import { evaluateRedis } from './evaluate-redis.js'
import { evaluateRedisCluster } from './evaluate-redis-cluster.js'

/** Connects as the service does; changes nothing. */
export async function examineRedis(config: Pick<Config, 'redisUrl' | 'redisCa'>): Promise<readonly Finding[]> {
  const redis: Redis = connectRedis(config.redisUrl, config.redisCa)
  let failure: unknown
  redis.on('error', (error) => {
    failure = error
  })
  try {
    await settled(redis)
    // The first command may wait for a connection, which would distort the clock offset.
    await redis.ping()
    const cluster = await readRedisClusterState(redis)
    const findings = cluster === undefined ? await examineServer(redis) : await examineNodes(redis)
    return [...findings, ...(cluster === undefined ? [] : [evaluateRedisCluster(cluster)]), await evaluateUse(redis)]
  } catch (error) {
    const cause = await explainClusterFailure(failure ?? error, readRedisUrl(config.redisUrl), config.redisCa)
    return [unusableRedis('redis', cause)]
  } finally {
    redis.disconnect()
  }
}

/** Waits until Redis is connected, or the connection has failed: a command's time limit is shorter than that of a connection. */
async function settled(redis: Redis): Promise<void> {
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
  await Promise.race(['ready', 'close'].map((event) => once(redis, event, { signal }))).catch(() => {})
}

/** What all nodes have in common is said once; a problem names its node. */
async function examineNodes(redis: Redis): Promise<readonly Finding[]> {
  const findings = new Map<string, Finding>()
  for (const { address, server } of redisServers(redis)) {
    for (const finding of await examineServer(server)) {
      const what = finding.severity === 'ok' ? finding.what : `${address} ${finding.what}`
      findings.set(`${finding.check} ${what}`, { ...finding, what })
    }
  }
  return [...findings.values()]
}

async function examineServer(redis: Redis): Promise<readonly Finding[]> {
  let state = await readRedisState(redis)
  const offset = await measureClock(async () => {
    state = await readRedisState(redis)
    return state.now
  })
  return evaluateRedis(state, offset)
}

async function evaluateUse(redis: Redis): Promise<Finding> {
  try {
    await createRedisProbe(redis)()
    return ok('redis use', 'supports all commands that the service uses')
  } catch (error) {
    return unusableRedis('redis use', error)
  }
}

function unusableRedis(check: string, error: unknown): Finding {
  const cause = error instanceof StoreUnavailable ? error.cause : error
  const { reason, remedy } = problemOfRedis(cause) ?? {}
  const message = cause instanceof Error ? cause.message : String(cause)
  return fatal(check, {
    what: `${reason ?? 'cannot be reached or used'}: ${message}`,
    why: 'Without it, users cannot sign in or consent, and apps cannot exchange codes.',
    fix: remedy ?? 'check the host, network, user, password and certificate in REDIS_URL and REDIS_CA'
  })
}
