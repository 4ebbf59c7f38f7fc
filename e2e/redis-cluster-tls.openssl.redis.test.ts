import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runDoctor } from '../services/authorization-server/test/support/doctor.js'
import { evaluateFlows, untilWell } from './system/load/flows.mjs'
import { startWorld, type World } from './system/start-world.mjs'
import { makeCertificates } from './system/stores/certificates.mjs'
import { startSecuredRedisCluster } from './system/stores/redis-cluster.mjs'

type Secured = Awaited<ReturnType<typeof startSecuredRedisCluster>>

let world: World<Secured>
beforeAll(async () => {
  world = await startWorld<Secured>({ startStore: startSecuredRedisCluster, withFiles: false, size: 1 })
})
afterAll(() => world?.close())

const settings = (change: Record<string, string> = {}) => ({
  ISSUER: 'http://localhost:4000',
  RESOURCE_URL: 'http://localhost:4100',
  DATABASE_URL: world.databaseUrls[0],
  REDIS_URL: world.redis.url,
  COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
  ...world.redis.settings,
  ...change
})

function firstInstance() {
  const [instance] = world.fleet.instances['authorization-server']
  if (instance === undefined) throw new Error('there is no instance')
  return instance
}

async function readiness(): Promise<{ status: number; body: unknown } | undefined> {
  const url = `http://127.0.0.1:${firstInstance().ports.OPERATOR_LISTEN}/readyz`
  const answer = await fetch(url).catch(() => undefined)
  return answer && { status: answer.status, body: await answer.json() }
}

const otherAuthority = () =>
  makeCertificates(path.join(world.directory, 'other-authority'), { commonName: 'Another authority' }).ca

describe('Redis Cluster whose nodes accept only TLS, and announce the name of their certificate', () => {
  test('with the permissions of docs/databases.md the service is ready, and every request of the flow succeeds', async () => {
    const { flows } = world
    expect(await readiness()).toMatchObject({ status: 200, body: { checks: { redis: 'ok' } } })
    const sessions = await Promise.all(Array.from({ length: 6 }, flows.signIn))
    const load = flows.run(sessions)
    await untilWell(flows.seen)
    await load.stop()
    const { unavailable, failed } = evaluateFlows(flows.seen)
    expect([failed, unavailable]).toEqual([[], 0])
  })

  test('a primary fails: only 503 until its replica is promoted, then all requests succeed', async () => {
    const { flows, redis } = world
    const load = flows.run(await Promise.all(Array.from({ length: 6 }, flows.signIn)))
    await untilWell(flows.seen, { from: Date.now() })
    const failedAt = Date.now()
    await redis.fail(await redis.replicated(), 'SIGKILL')
    await untilWell(flows.seen, { from: Date.now() })
    await load.stop()
    expect(evaluateFlows(flows.seen, failedAt).failed).toEqual([])
  })

  test('doctor examines each node over TLS', async () => {
    const { document } = await runDoctor(settings())
    const findings = document.findings.filter(({ check }) => check.startsWith('redis'))
    expect(findings.filter(({ severity }) => severity === 'fatal')).toEqual([])
    expect(findings).toContainEqual(expect.objectContaining({ check: 'redis cluster', severity: 'warning' }))
    expect(findings).toContainEqual(expect.objectContaining({ check: 'redis use', severity: 'ok' }))
  })

  test('doctor with another authority: a fatal finding that names the error of TLS', async () => {
    const { code, document } = await runDoctor(settings({ REDIS_CA_FILE: otherAuthority() }))
    const findings = document.findings.filter(({ check }) => check === 'redis')
    expect([code, findings]).toMatchObject([1, [{ severity: 'fatal', what: expect.stringMatching(/TLS fails/) }]])
  })

  test('another authority: not ready, and /readyz names the error of TLS', async () => {
    // The service never becomes ready, so the restart does not complete.
    void world.fleet.restart(firstInstance(), { REDIS_CA_FILE: otherAuthority() }).catch(() => {})
    let seen = await readiness()
    while (!JSON.stringify(seen?.body ?? '').includes('"reasons":{"redis"')) {
      await wait(20)
      seen = await readiness()
    }
    const reasons = { redis: expect.stringMatching(/TLS fails/) }
    expect(seen).toMatchObject({ status: 503, body: { checks: { postgres: 'ok', redis: 'unavailable' }, reasons } })
  })
})
