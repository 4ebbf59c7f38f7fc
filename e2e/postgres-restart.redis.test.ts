import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { evaluateFlows, type Flows, untilWell } from './system/load/flows.mjs'
import { startWorld, type World } from './system/start-world.mjs'

let world: World
beforeAll(async () => {
  world = await startWorld({ size: 1 })
})
afterAll(() => world?.close())

test('Postgres of both services restarts under load: only 503 meanwhile, then all requests and sessions work', async () => {
  const { flows, postgres } = world
  const load = flows.run([await flows.signIn(), await flows.signIn()])
  await untilWell(flows.seen)
  expect(evaluateFlows(flows.seen)).toMatchObject({ unavailable: 0, failed: [] })
  const stoppedAt = Date.now()
  await postgres.stop()
  await untilUnavailable(flows, stoppedAt)
  await postgres.comeBack()
  await untilWell(flows.seen, { from: Date.now() })
  await load.stop()

  expect(evaluateFlows(flows.seen, stoppedAt).failed).toEqual([])
})

/** Waits until a response reports that Postgres is unavailable. */
async function untilUnavailable({ seen }: Flows, from: number): Promise<void> {
  while (evaluateFlows(seen, from).unavailable === 0) await wait(20)
}
