import { connect, createServer, type Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../packages/dev-stack/src/index.js'
import { connectPostgres, findPooling, migrate } from '../packages/service-kit/src/index.js'
import { runDoctor } from '../services/authorization-server/test/support/doctor.js'
import { atPort } from '../services/authorization-server/test/support/failing-network.js'
import {
  type ServiceProcess,
  startServiceProcess
} from '../services/authorization-server/test/support/service-process.js'
import { type PoolMode, poolerVersion, startPooler } from './system/stores/pooler.mjs'
import { openWorkshop, type Workshop } from './system/workshop.mjs'

const MIGRATIONS = path.resolve(import.meta.dirname, '../services/authorization-server/migrations')
const MODES: readonly PoolMode[] = ['session', 'transaction', 'statement']

let database: TestDatabase
let workshop: Workshop
const poolers = new Map<PoolMode, string>()
let service: ServiceProcess | undefined

beforeAll(async () => {
  const { TEST_PGBOUNCER: command, TEST_REDIS_URL } = process.env
  if (command === undefined || TEST_REDIS_URL === undefined) throw new Error('this needs pgbouncer and redis-server')
  database = await createTestDatabase()
  await migrate(database.url, MIGRATIONS)
  workshop = openWorkshop()
  for (const mode of MODES) {
    const { url } = await startPooler({ ...workshop, command, databaseUrl: database.url, mode })
    poolers.set(mode, url)
  }
})
afterEach(async () => {
  service?.child.kill('SIGKILL')
  await service?.exited
})
afterAll(async () => {
  await workshop.close()
  await database.drop()
})

const settings = (databaseUrl: string) => ({
  ISSUER: 'http://localhost:4000',
  RESOURCE_URL: 'http://localhost:4100',
  DATABASE_URL: databaseUrl,
  REDIS_URL: process.env.TEST_REDIS_URL,
  COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters'
})

const at = (mode: PoolMode) => poolers.get(mode) ?? ''

const portOf = (url: string) => Number(new URL(url).port)

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await wait(20)
}

/** A proxy whose target port can change; a change ends all connections. */
async function startSwitch(first: number) {
  let target = first
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          near.destroy()
          far.destroy()
        })
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    lead(port: number) {
      target = port
      endAll()
    },
    async close() {
      endAll()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    }
  }
}

async function operator(running: ServiceProcess, route: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${running.operatorPort}${route}`)
}

async function untilLogged(running: ServiceProcess, text: string): Promise<void> {
  while (!running.log().includes(text)) await wait(20)
}

test.each(MODES)('the mode of a pooler in %s mode is found', async (mode) => {
  const { keepsStatements } = poolerVersion(process.env.TEST_PGBOUNCER ?? '')
  const transaction = keepsStatements ? 'transaction' : 'mixed'
  const expected = { session: 'session', transaction, statement: 'mixed' }
  expect(await findPooling(at(mode))).toBe(expected[mode])
})

test('a direct connection to Postgres is recognized as direct', async () => {
  expect(await findPooling(database.url)).toBe('direct')
})

describe('the connection pool of both services', () => {
  const pool = (url: string) => connectPostgres(url, { connections: 3, plans: 'kept' })
  const ask = { name: 'one', text: 'select 1 as one', values: [] }

  test.each(['transaction', 'statement'] as const)('is refused behind a pooler in %s mode', async (mode) => {
    const connected = pool(at(mode))
    await Promise.allSettled([connected.query(ask), connected.query(ask)])
    await expect(connected.refuseSharing()).rejects.toMatchObject({ name: 'StoreUnavailable', store: 'postgres' })
    await connected.close()
  })

  test('works behind a pooler in session mode', async () => {
    const connected = pool(at('session'))
    const asked = await Promise.all(Array.from({ length: 10 }, () => connected.query(ask)))
    expect(asked).toEqual(asked.map(() => [{ one: 1 }]))
    await connected.refuseSharing()
    await connected.close()
  })

  test('detects while it runs that a pooler was added, and that it was removed', async () => {
    const network = await startSwitch(portOf(database.url))
    const connected = pool(atPort(database.url, network.port))
    await connected.query(ask)
    await connected.refuseSharing()
    network.lead(portOf(at('transaction')))
    await until(async () => {
      await connected.query(ask).catch(() => {})
      return connected.refuseSharing().then(
        () => false,
        () => true
      )
    })
    network.lead(portOf(database.url))
    await until(async () => {
      await connected.query(ask).catch(() => {})
      return connected.refuseSharing().then(
        () => true,
        () => false
      )
    })
    await connected.close()
    await network.close()
  })
})

describe.each(['transaction', 'statement'] as const)('the authorization server behind a pooler in %s mode', (mode) => {
  test('is not ready, and reports the reason on /readyz, in the log and in the metric', async () => {
    service = await startServiceProcess(settings(at(mode)))
    await untilLogged(service, '"event":"dependency_unavailable","dependency":"postgres"')
    const readyz = await operator(service, '/readyz')
    const reason = expect.stringContaining('pooler that shares connections')
    expect([readyz.status, await readyz.json()]).toEqual([
      503,
      expect.objectContaining({
        checks: expect.objectContaining({ postgres: 'unavailable' }),
        reasons: { postgres: reason }
      })
    ])
    expect(await (await operator(service, '/metrics')).text()).toContain(
      'valetkey_dependency_up{dependency="postgres"} 0'
    )
    expect(service.log()).not.toContain('hush')
  })

  test('is a fatal finding of doctor', async () => {
    const { code, document } = await runDoctor(settings(at(mode)))
    expect(document.findings).toContainEqual(expect.objectContaining({ check: 'postgres pooler', severity: 'fatal' }))
    expect(code).toBe(1)
  })
})

test('a pooler in session mode: ready, and doctor warns that notifications are not received through it', async () => {
  service = await startServiceProcess(settings(at('session')))
  await untilLogged(service, '"event":"revocation_channel_lost"')
  const readyz = await operator(service, '/readyz')
  expect([readyz.status, await readyz.json()]).toMatchObject([200, { checks: { postgres: 'ok' } }])
  const { document } = await runDoctor(settings(at('session')))
  expect(document.findings).toContainEqual(expect.objectContaining({ check: 'postgres pooler', severity: 'warning' }))
})
