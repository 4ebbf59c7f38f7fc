import { afterEach, expect, test } from '@jest/globals'
import { buildServer } from '../src/build-server.js'
import { type HealthChecks, healthRoutes } from '../src/health-routes.js'
import { buildLogger } from '../src/logger.js'

const servers: ReturnType<typeof buildServer>[] = []

afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

function serverWith(checks: HealthChecks) {
  const server = buildServer({ logger: buildLogger('test', 'silent') })
  servers.push(server)
  server.register(healthRoutes, { checks })
  return server
}

const fine = async () => 'whatever it answers'
const broken = async () => {
  throw new Error('connect ECONNREFUSED at a secret address')
}

test('/readyz is 200 when every dependency answers, and is never cached', async () => {
  const answer = await serverWith({ postgres: fine, redis: fine }).inject('/readyz')
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok', checks: { postgres: 'ok', redis: 'ok' } }])
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('/readyz is 503 and names the dependency that does not answer, without the reason', async () => {
  const answer = await serverWith({ postgres: fine, redis: broken }).inject('/readyz')
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toEqual({ status: 'unavailable', checks: { postgres: 'ok', redis: 'unavailable' } })
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('/readyz answers within three seconds when a dependency hangs', async () => {
  const startedAt = Date.now()
  const answer = await serverWith({ postgres: () => new Promise(() => {}) }).inject('/readyz')
  expect([answer.statusCode, answer.json().checks.postgres]).toEqual([503, 'unavailable'])
  expect(Date.now() - startedAt).toBeLessThan(3_000)
})

test('/livez asks nobody', async () => {
  const answer = await serverWith({ postgres: broken }).inject('/livez')
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }])
})
