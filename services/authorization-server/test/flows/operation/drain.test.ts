import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { freePort } from '../../support/failing-network.js'
import { basic } from '../../support/flow.js'
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.js'

let server: TestServer
let service: ServiceProcess | undefined
const agent = new Agent({ keepAlive: true })

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
afterEach(() => {
  service?.child.kill('SIGKILL')
  agent.destroy()
})

async function start(drainDelay: string): Promise<ServiceProcess> {
  service = await startServiceProcess({
    ISSUER: server.config.issuer,
    RESOURCE_URL: server.config.resourceUrl,
    DATABASE_URL: server.config.databaseUrl,
    DATABASE_DIRECT_URL: server.config.databaseDirectUrl,
    REDIS_URL: process.env.TEST_REDIS_URL ?? `redis://127.0.0.1:${await freePort()}`,
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    DRAIN_DELAY: drainDelay
  })
  expect(service.errors()).toBe('')
  return service
}

/** Over a connection that is kept alive, as a balancer asks. */
function ask(port: number, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent }, (response) => {
      response.resume().on('end', () => resolve(response))
    }).on('error', reject)
  })
}

/** Longer than Jest waits for a test. */
const ENDLESS_DELAY = '300'

test('SIGTERM during DRAIN_DELAY: not ready, requests served with connection: close, feed streams ended', async () => {
  const { child, publicPort, internalPort, operatorPort } = await start(ENDLESS_DELAY)
  const headers = basic(await server.createResourceServer())
  const open = () => fetch(`http://127.0.0.1:${internalPort}/revocations`, { headers })
  let stream = await open()
  while (stream.status === 503) stream = await open()
  const said = stream.text()
  expect((await ask(publicPort, '/login')).headers.connection).toBe('keep-alive')

  child.kill('SIGTERM')
  expect(await said).toMatch(/^event: opened\n/)
  const ready = await fetch(`http://127.0.0.1:${operatorPort}/readyz`)
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'draining', checks: {} }])
  expect((await fetch(`http://127.0.0.1:${operatorPort}/livez`)).status).toBe(200)
  const page = await ask(publicPort, '/login')
  expect([page.statusCode, page.headers.connection]).toEqual([200, 'close'])
  expect((await open()).status).toBe(503)
})

test('SIGTERM: the process ends with 0 after DRAIN_DELAY, and not before', async () => {
  const { child, exited } = await start('2')
  const orderedAt = performance.now()
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(performance.now() - orderedAt).toBeGreaterThan(1_900)
})

test('a second signal ends the delay immediately', async () => {
  const { child, operatorPort, exited } = await start(ENDLESS_DELAY)
  child.kill('SIGTERM')
  // A connection that was kept alive may end between two looks.
  const look = () => fetch(`http://127.0.0.1:${operatorPort}/readyz`).catch(() => undefined)
  while ((await look())?.status !== 503) await wait(20)
  child.kill('SIGTERM')
  expect(await exited).toBe(1)
})
