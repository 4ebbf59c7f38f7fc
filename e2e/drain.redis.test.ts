import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { evaluateFlows, untilWell } from './system/load/flows.mjs'
import { startWorld, type World } from './system/start-world.mjs'

let world: World
beforeAll(async () => {
  world = await startWorld({ settings: { DRAIN_DELAY: '1' }, cacheSeconds: 60 })
})
afterAll(() => world?.close())

test('a restart of one of two instances of each service under load behind a balancer: no request fails', async () => {
  const { fleet, flows } = world
  const sessions = [await flows.signIn(), await flows.signIn(), await flows.signIn()]
  const load = flows.run(sessions)
  await untilWell(flows.seen)
  for (const service of ['resource-server', 'authorization-server'] as const) {
    const [first] = fleet.instances[service]
    if (first !== undefined) await fleet.restart(first)
  }
  await untilWell(flows.seen, { from: Date.now() })
  await load.stop()
  const { failed } = evaluateFlows(flows.seen)
  expect(failed).toEqual([])
  expect(flows.seen.filter(({ status }) => status === 503)).toEqual([])
  expect(new Set(flows.seen.map(({ what }) => what))).toEqual(new Set(['authorize', 'exchange', 'files', 'refresh']))
})
