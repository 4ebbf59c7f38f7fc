import { type Finding, fatal, ok, warning } from '@valetkey/service-kit'
import type { RedisClusterState } from '../../storage/redis/redis-state.js'

/** The nodes of a Redis Cluster together; `evaluateRedis` evaluates each. */
export function evaluateRedisCluster({ isComplete, primaries }: RedisClusterState): Finding {
  if (!isComplete) {
    return fatal('redis cluster', {
      what: 'does not serve all keys (cluster_state is not ok)',
      why: 'Sign-ins, consents and exchanges whose keys are missing get 503.',
      fix: 'start the missing nodes, or assign their slots to others'
    })
  }
  const alone = primaries.filter(({ replicas }) => replicas === 0).map(({ address }) => address)
  if (alone.length === 0) return ok('redis cluster', `${primaries.length} primaries, each with a replica`)
  return warning('redis cluster', {
    what: `has no replica of ${alone.join(', ')}`,
    why: 'If that node fails, its part of the sign-ins, consents and exchanges gets 503 until it is back.',
    fix: 'add a replica to each primary'
  })
}
