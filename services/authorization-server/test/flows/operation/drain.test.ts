import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { freePort } from '../../../../../packages/dev-stack/lib/processes/ports.mjs'
import {
  type Credentials,
  REDIRECT_URI,
  startTestServer,
  type TestServer,
  until
} from '../../support/authorization-server.js'
import { recordOf } from '../../support/codes.js'
import { basic, bodyCredentials, obtainCode, PASSWORD } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { overTheWire } from '../../support/over-the-wire.js'
import { lockGrantOfCode } from '../../support/row-lock.js'
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.js'
import { isActive } from '../../support/tokens.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('drain', () => {
  let service: ServiceProcess | undefined
  const agent = new Agent({ keepAlive: true })
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

  /** This is longer than Jest waits for a test. */
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
})

describe('exchange at shutdown', () => {
  let client: Credentials
  let resourceServer: Credentials

  beforeAll(async () => {
    await server.createUser('alice', PASSWORD)
    client = await server.createClient()
    resourceServer = await server.createResourceServer()
  })

  test('a stop completes the exchanges in Postgres and those that wait for the next batch', async () => {
    const instance = await startInstance(server)
    const send = await overTheWire(instance.publicServer)
    const codes: string[] = []
    for (let count = 0; count < 6; count++) codes.push(await obtainCode(server, client))
    const exchange = (code: string) =>
      send('/token', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          ...bodyCredentials(client),
          grant_type: 'authorization_code',
          redirect_uri: REDIRECT_URI,
          code
        }).toString()
      })

    // Two statements are held up in Postgres, so that what comes after them has to wait in the process.
    const [first = '', second = '', ...others] = codes
    const locks = [await lockGrantOfCode(server, first)]
    const exchanges = [exchange(first)]
    await locks[0]?.blocked(1)
    locks.push(await lockGrantOfCode(server, second))
    exchanges.push(exchange(second))
    await locks[0]?.blocked(2)
    for (const code of others) exchanges.push(exchange(code))
    // From then on each of them only waits for Postgres.
    const isTaken = async (code: string) => (await recordOf(server, code)).startsWith('taken ')
    await until(async () => (await Promise.all(others.map(isTaken))).every(Boolean))

    const closed = instance.close()
    for (const lock of locks) await lock.release()
    const answers = await Promise.all(exchanges)
    await closed
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(codes.map(() => 200))
    for (const { body } of answers) {
      expect(await isActive(server, resourceServer, JSON.parse(body).access_token)).toBe(true)
    }
  })
})
