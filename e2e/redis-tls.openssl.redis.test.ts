import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { evaluateFlows, untilWell } from './system/load/flows.mjs'
import { startWorld, type World } from './system/start-world.mjs'
import { startSecuredRedis } from './system/stores/redis-servers.mjs'

type Secured = Awaited<ReturnType<typeof startSecuredRedis>>

let world: World<Secured>
beforeAll(async () => {
  world = await startWorld<Secured>({ startStore: startSecuredRedis, withFiles: false, size: 1 })
})
afterAll(() => world?.close())

test('Redis with TLS and a user with the permissions of docs/databases.md: the whole flow works', async () => {
  const { flows } = world
  const load = flows.run([await flows.signIn()])
  await untilWell(flows.seen)
  await load.stop()
  const { unavailable, failed } = evaluateFlows(flows.seen)
  expect([failed, unavailable]).toEqual([[], 0])
})

test('a certificate of an untrusted authority: Redis is unavailable', async () => {
  const { fleet } = world
  const [instance] = fleet.instances['authorization-server']
  if (instance === undefined) throw new Error('there is no instance')
  // The service never becomes ready, so the restart does not complete.
  void fleet.restart(instance, { REDIS_CA_FILE: '' }).catch(() => {})
  const readyz = `http://127.0.0.1:${instance.ports.OPERATOR_LISTEN}/readyz`
  let checks: unknown
  // Until the time limit of the test.
  while (checks === undefined) {
    await wait(20)
    const answer = await fetch(readyz).catch(() => undefined)
    if (answer?.status === 503) ({ checks } = (await answer.json()) as { checks?: unknown })
    if (Object.keys(Object(checks)).length === 0) checks = undefined
  }
  expect(checks).toMatchObject({ postgres: 'ok', redis: 'unavailable' })
})
