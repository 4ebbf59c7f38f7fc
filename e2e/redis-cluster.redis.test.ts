import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runDoctor } from '../services/authorization-server/test/support/doctor.js'
import { matches, read } from './support/documents.js'
import { evaluateFlows, untilWell } from './system/load/flows.mjs'
import { startWorld, type World } from './system/start-world.mjs'
import { startRedisCluster } from './system/stores/redis-cluster.mjs'

type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>

let world: World<RedisCluster>
beforeAll(async () => {
  world = await startWorld<RedisCluster>({ startStore: startRedisCluster, withFiles: false, size: 1 })
})
afterAll(() => world?.close())

/** Runs flows of several users' browsers during `disturb`. @returns the results after it began */
async function duringFlows({ flows }: World<RedisCluster>, disturb: () => Promise<void>) {
  const sessions = await Promise.all(Array.from({ length: 6 }, flows.signIn))
  const load = flows.run(sessions)
  await untilWell(flows.seen, { from: Date.now() })
  const disturbedAt = Date.now()
  await disturb()
  await untilWell(flows.seen, { from: Date.now() })
  await load.stop()
  return evaluateFlows(flows.seen, disturbedAt)
}

describe('Redis Cluster of three primaries and three replicas', () => {
  test('slots move between nodes: every request succeeds', async () => {
    const { redis } = world
    const result = await duringFlows(world, async () => {
      const [from, to] = await redis.primaries()
      await redis.moveSlots(Number(from), Number(to), 60)
    })
    expect(result).toMatchObject({ unavailable: 0, failed: [] })
  })

  test.each(['docs/backup.md', 'docs/postgres-failover.md'])(
    'the command of %s empties every primary',
    async (page) => {
      const { redis, flows } = world
      await flows.signIn()
      const sizes = async () => Promise.all((await redis.primaries()).map((port) => redis.tell(port, 'DBSIZE')))
      expect((await sizes()).join()).toMatch(/:[1-9]/)
      const [command = ''] = matches(read(page), /`(redis-cli [^`]*HOST:PORT[^`]*)`/g)
      const [program = '', ...args] = command.replace('HOST:PORT', `127.0.0.1:${redis.ports[0]}`).split(' ')
      const [, password] = /:\/\/:([^@]+)@/.exec(redis.url) ?? []
      await promisify(execFile)(program, args, { env: { ...process.env, REDISCLI_AUTH: password } })
      for (const size of await sizes()) expect(size).toMatch(/^:0\r$/m)
    }
  )

  test('a primary fails: only 503 until its replica is promoted, then all requests and sessions work', async () => {
    const { redis } = world
    const result = await duringFlows(world, async () => {
      // Writes that the replica has not received are lost with the primary.
      await redis.fail(await redis.replicated(), 'SIGKILL')
    })
    expect(result.failed).toEqual([])
  })

  test('a primary stalls: only 503 until its replica is promoted', async () => {
    const { redis } = world
    const stalling = duringFlows(world, async () => redis.fail(await redis.replicated(), 'SIGSTOP'))
    const result = await stalling.finally(redis.resume)
    expect(result.failed).toEqual([])
  })

  test('doctor names the primaries without a replica', async () => {
    const { redis, databaseUrls } = world
    const { document } = await runDoctor({
      ISSUER: 'http://localhost:4000',
      RESOURCE_URL: 'http://localhost:4100',
      DATABASE_URL: databaseUrls[0],
      REDIS_URL: redis.url,
      COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters'
    })
    const findings = document.findings.filter(({ check }) => check.startsWith('redis'))
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'redis cluster',
        severity: 'warning',
        what: expect.stringContaining('no replica')
      })
    )
    expect(findings).toContainEqual(expect.objectContaining({ check: 'redis use', severity: 'ok' }))
  })
})
