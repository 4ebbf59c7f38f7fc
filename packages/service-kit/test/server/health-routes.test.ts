import { afterEach, expect, jest, test } from '@jest/globals'
import { buildLogger } from '../../src/process/logger.js'
import { buildServer } from '../../src/server/build-server.js'
import { healthRoutes } from '../../src/server/health-routes.js'
import { createReadiness, type HealthChecks } from '../../src/server/readiness.js'
import { StoreUnavailable } from '../../src/stores/store-unavailable.js'

const servers: ReturnType<typeof buildServer>[] = []

afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

function serverWith(checks: HealthChecks) {
  const server = buildServer({ logger: buildLogger('test', 'silent') })
  servers.push(server)
  server.register(healthRoutes, { readiness: createReadiness({ checks }) })
  return server
}

const fine = async () => 'any result'
const broken = async () => {
  throw new Error('connect ECONNREFUSED at a secret address')
}

test('/readyz is 200 if every dependency responds, and is not cached', async () => {
  const answer = await serverWith({ postgres: fine, redis: fine }).inject('/readyz')
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok', checks: { postgres: 'ok', redis: 'ok' } }])
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('/readyz is 503 and names the dependency that fails, without the error', async () => {
  const answer = await serverWith({ postgres: fine, redis: broken }).inject('/readyz')
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toEqual({ status: 'unavailable', checks: { postgres: 'ok', redis: 'unavailable' } })
  expect(answer.headers['cache-control']).toBe('no-store')
})

test('/readyz: a dependency that does not respond is unavailable after two seconds', async () => {
  jest.useFakeTimers()
  try {
    let isRead = false
    const reading = createReadiness({ checks: { postgres: () => new Promise(() => {}) } })().finally(() => {
      isRead = true
    })
    await jest.advanceTimersByTimeAsync(1_999)
    expect(isRead).toBe(false)
    await jest.advanceTimersByTimeAsync(1)
    expect(await reading).toMatchObject({ status: 'unavailable', checks: { postgres: 'unavailable' } })
  } finally {
    jest.useRealTimers()
  }
})

test('/readyz: a check needed at the start makes it 503 until it has succeeded once, and is only reported then', async () => {
  let probe = broken as () => Promise<unknown>
  const server = serverWith({ postgres: fine, redis: { needed: 'at start', probe: () => probe() } })
  const readiness = async () => {
    const answer = await server.inject('/readyz')
    return [answer.statusCode, answer.json().status, answer.json().checks.redis]
  }
  expect(await readiness()).toEqual([503, 'unavailable', 'unavailable'])
  probe = fine
  expect(await readiness()).toEqual([200, 'ok', 'ok'])
  probe = broken
  expect(await readiness()).toEqual([200, 'degraded', 'unavailable'])
})

test('/readyz: a check that is never needed is only reported', async () => {
  const answer = await serverWith({ postgres: fine, feed: { needed: 'never', probe: broken } }).inject('/readyz')
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    { status: 'degraded', checks: { postgres: 'ok', feed: 'unavailable' } }
  ])
})

test('/livez runs no check', async () => {
  const answer = await serverWith({ postgres: broken }).inject('/livez')
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }])
})

test('/readyz is 503 while draining, without running checks', async () => {
  const server = buildServer({ logger: buildLogger('test', 'silent') })
  servers.push(server)
  server.register(healthRoutes, {
    readiness: createReadiness({ checks: { postgres: fine }, draining: AbortSignal.abort() })
  })
  const answer = await server.inject('/readyz')
  expect([answer.statusCode, answer.json()]).toEqual([503, { status: 'draining', checks: {} }])
  expect((await server.inject('/livez')).statusCode).toBe(200)
})

test('/readyz: a wrong setting makes a ready process unready, with the reason', async () => {
  let probe = fine as () => Promise<unknown>
  const server = serverWith({ postgres: fine, redis: { needed: 'at start', probe: () => probe() } })
  const readiness = async () => {
    const answer = await server.inject('/readyz')
    return [answer.statusCode, answer.json().status, answer.json().reasons]
  }
  const fails = (message: string) => async () => {
    throw new StoreUnavailable('redis', Object.assign(new Error(message), { name: 'ReplyError' }))
  }
  expect(await readiness()).toEqual([200, 'ok', undefined])
  probe = fails('OOM command not allowed')
  expect(await readiness()).toEqual([200, 'degraded', { redis: 'is full: maxmemory is reached' }])
  probe = fails('WRONGPASS invalid username-password pair')
  expect(await readiness()).toEqual([503, 'unavailable', { redis: 'refuses the password or the user' }])
})
