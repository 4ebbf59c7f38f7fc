import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { evaluateFlows, untilWell } from './system/load/flows.mjs'
import { startWorld, type World } from './system/start-world.mjs'
import { startSentinels } from './system/stores/redis-servers.mjs'

type Sentinels = Awaited<ReturnType<typeof startSentinels>>

let world: World<Sentinels>
beforeAll(async () => {
  world = await startWorld<Sentinels>({ startStore: startSentinels, withFiles: false, size: 1 })
})
afterAll(() => world?.close())

test('the primary of Redis fails: only 503 until the Sentinels promote another, then all requests and sessions work', async () => {
  const { flows, redis } = world
  const sessions = [await flows.signIn(), await flows.signIn()]
  // Writes that the replica has not received are lost with the primary.
  await redis.replicated()
  const load = flows.run(sessions)
  await untilWell(flows.seen)
  expect(evaluateFlows(flows.seen)).toMatchObject({ unavailable: 0, failed: [] })
  const killedAt = Date.now()
  await redis.killPrimary()
  await untilWell(flows.seen, { from: Date.now() })
  await load.stop()

  const away = evaluateFlows(flows.seen, killedAt)
  expect(away.failed).toEqual([])
  expect(away.unavailable).toBeGreaterThan(0)
})
