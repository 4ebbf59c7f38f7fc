import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { judge } from './fleet/flows.mjs'
import { hasRedisServer, startWorld, type World } from './fleet/start-world.mjs'

jest.setTimeout(90_000)

let world: World | undefined
beforeAll(async () => {
  if (hasRedisServer()) world = await startWorld({ size: 1 })
})
afterAll(() => world?.close())

test('Postgres of both services restarts under load: nothing but 503 while it is away, then all works, sessions too', async () => {
  if (world === undefined) return
  const { flows, postgres } = world
  const load = flows.run([await flows.signIn(), await flows.signIn()])
  await wait(1_000)
  expect(judge(flows.seen)).toMatchObject({ unavailable: 0, failed: [] })
  const stoppedAt = Date.now()
  await postgres.stop()
  await wait(1_000)
  await postgres.comeBack()
  // The guard leaves an authorization server alone for up to two seconds that has just failed.
  await wait(3_000)
  const mendedAt = Date.now()
  await wait(2_000)
  await load.stop()

  const away = judge(flows.seen, stoppedAt, mendedAt)
  expect(away.failed).toEqual([])
  expect(away.unavailable).toBeGreaterThan(0)
  const after = judge(flows.seen, mendedAt)
  expect(after).toMatchObject({ unavailable: 0, failed: [] })
  expect(after.requests).toBeGreaterThan(20)
})
