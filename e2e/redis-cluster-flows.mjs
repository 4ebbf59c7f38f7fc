// npm run check:redis-cluster: the flow tests of the authorization server on a Redis Cluster of three primaries and three
// replicas. Takes no input and stops by itself; ends with 1 if a test fails.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { checkout } from '../packages/dev-stack/lib/checkout.mjs'
import { findRedisServer } from '../packages/dev-stack/lib/stores/redis.mjs'
import { startRedisCluster } from './system/stores/redis-cluster.mjs'
import { openWorkshop } from './system/workshop.mjs'

/** Tests that put a network between the service and one server, count the commands of one, or give a user rights on one. */
const OF_ONE_SERVER = [
  'secrets/canary',
  'operation/statement-counts',
  'operation/shutdown',
  'code/code-exchange-redis-loss'
]

const workshop = openWorkshop()
try {
  const { url } = await startRedisCluster({ ...workshop, command: findRedisServer() })
  // One worker, because a Redis Cluster has one database.
  const args = [
    'packages/dev-stack/bin/test.mjs',
    'authorization-server/test/(features/.*/)?flows',
    '--maxWorkers',
    '1'
  ]
  for (const test of OF_ONE_SERVER) args.push(`--testPathIgnorePatterns=flows/${test}`)
  const tests = spawn(process.execPath, [...args, ...process.argv.slice(2)], {
    cwd: path.resolve(checkout),
    env: { ...process.env, TEST_REDIS_CLUSTER_URL: url },
    stdio: 'inherit'
  })
  const [code] = await once(tests, 'exit')
  process.exitCode = code ?? 1
} finally {
  await workshop.close()
}
