import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { judge } from './fleet/flows.mjs'
import { startSentinels } from './fleet/redis-servers.mjs'
import { hasRedisServer, startWorld, type World } from './fleet/start-world.mjs'

jest.setTimeout(90_000)

type Sentinels = Awaited<ReturnType<typeof startSentinels>>

let world: World<Sentinels> | undefined
beforeAll(async () => {
  if (hasRedisServer()) world = await startWorld<Sentinels>({ startStore: startSentinels, withFiles: false, size: 1 })
})
afterAll(() => world?.close())

test('the primary of Redis dies: nothing but 503 until the Sentinels have another one, then all works, sessions too', async () => {
  if (world === undefined) return
  const { flows, redis } = world
  const sessions = [await flows.signIn(), await flows.signIn()]
  // What the replica has not heard of dies with the primary.
  await wait(1_000)
  const load = flows.run(sessions)
  await wait(1_000)
  expect(judge(flows.seen)).toMatchObject({ unavailable: 0, failed: [] })
  const killedAt = Date.now()
  await redis.killPrimary()
  await wait(3_000)
  const mendedAt = Date.now()
  await wait(2_000)
  await load.stop()

  const away = judge(flows.seen, killedAt, mendedAt)
  expect(away.failed).toEqual([])
  expect(away.unavailable).toBeGreaterThan(0)
  const after = judge(flows.seen, mendedAt)
  expect(after).toMatchObject({ unavailable: 0, failed: [] })
  expect(after.requests).toBeGreaterThan(20)
})
