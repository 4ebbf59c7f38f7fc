import { execFileSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '../packages/dev-stack/src/index.js'
import { expiryBucket, newOpaqueAccessToken } from '../packages/oauth-protocol/src/index.js'
import { connectPostgres, migrate, roleSettings } from '../packages/service-kit/src/index.js'
import { runDoctor } from '../services/authorization-server/test/support/doctor.js'
import { atPort, startFailingNetwork } from '../services/authorization-server/test/support/failing-network.js'
import { basic } from '../services/authorization-server/test/support/flow.js'
import {
  type ServiceProcess,
  startServiceProcess
} from '../services/authorization-server/test/support/service-process.js'
import { createImportRuns } from '../services/resource-server/src/storage/import-runs.js'
import { type PoolMode, poolerVersion, startPooler } from './system/stores/pooler.mjs'
import { openWorkshop, type Workshop } from './system/workshop.mjs'

const MIGRATIONS = path.resolve(import.meta.dirname, '../services/authorization-server/migrations')
const COMMAND_LINE = path.resolve(import.meta.dirname, '../services/authorization-server/dist/operator/cli/main.js')

const { TEST_PGBOUNCER: command = '', TEST_REDIS_URL } = process.env
const { keepsStatements } = poolerVersion(command)
/** The mode in which this version of PgBouncer works beside a direct URL. */
const MODE: PoolMode = keepsStatements ? 'transaction' : 'session'

let database: TestDatabase
let workshop: Workshop
let service: ServiceProcess | undefined
const poolers = new Map<PoolMode, Awaited<ReturnType<typeof startPooler>>>()

const start = (mode: PoolMode, port?: number) =>
  startPooler({ ...workshop, command, databaseUrl: database.url, mode, ...(port !== undefined && { port }) })

beforeAll(async () => {
  database = await createTestDatabase()
  await migrate(database.url, MIGRATIONS)
  workshop = openWorkshop()
  for (const mode of ['session', 'transaction'] as const) poolers.set(mode, await start(mode))
})
afterEach(async () => {
  service?.child.kill('SIGKILL')
  await service?.exited
})
afterAll(async () => {
  await workshop.close()
  await database.drop()
})

const at = (mode: PoolMode) => poolers.get(mode)?.url ?? ''

const settings = (change: { DATABASE_URL?: string; DATABASE_DIRECT_URL?: string } = {}) => ({
  ISSUER: 'http://localhost:4000',
  RESOURCE_URL: 'http://localhost:4100',
  DATABASE_URL: at(MODE),
  DATABASE_DIRECT_URL: database.url,
  REDIS_URL: TEST_REDIS_URL,
  COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
  ...change
})

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await wait(20)
}

const timesLogged = (running: ServiceProcess, text: string) => running.log().split(text).length - 1

async function administer<Row extends object>(text: string): Promise<Row[]> {
  const direct = connectPostgres(database.url, { connections: 1 })
  try {
    return await direct.query<Row>({ name: '', text, values: [] })
  } finally {
    await direct.close()
  }
}

async function readiness({ operatorPort }: ServiceProcess): Promise<unknown[]> {
  const response = await fetch(`http://127.0.0.1:${operatorPort}/readyz`)
  return [response.status, await response.json()]
}

test('with a direct URL the service is ready, listens, and listens again after its connection was lost', async () => {
  const running = await startServiceProcess(settings())
  service = running
  await until(() => timesLogged(running, '"event":"revocation_channel_ready"') === 1)
  expect(await readiness(running)).toMatchObject([200, { checks: { postgres: 'ok', announcements: 'ok' } }])
  const ended = await administer(
    "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_notify($1, payload)%'"
  )
  expect(ended.length).toBeGreaterThan(0)
  await until(() => timesLogged(running, '"event":"revocation_channel_ready"') === 2)
  expect(timesLogged(running, '"event":"revocation_channel_lost"')).toBe(1)
})

test('doctor reports the mode, the direct URL, and settings that the role lacks', async () => {
  const found = async () => (await runDoctor(settings())).document.findings
  const lacking = await found()
  expect(lacking).toContainEqual({ check: 'postgres pooler', severity: 'ok', what: `${MODE} mode, which works` })
  expect(lacking).toContainEqual(
    expect.objectContaining({
      check: 'DATABASE_DIRECT_URL',
      severity: 'ok',
      what: expect.stringContaining('LISTEN works')
    })
  )
  expect(lacking).toContainEqual(
    expect.objectContaining({
      check: 'postgres role settings',
      severity: 'warning',
      what: expect.stringContaining('statement_timeout = 2s'),
      // A name such as load-balancer needs the quotes.
      fix: expect.stringMatching(/alter role "[^"]+" set statement_timeout = '2s'/)
    })
  )
  const name = new URL(database.url).pathname.slice(1)
  for (const [setting, value] of Object.entries(roleSettings('kept by index'))) {
    await administer(`alter database ${name} set ${setting} = '${value}'`)
  }
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  const complete = await found()
  expect(complete).toContainEqual(expect.objectContaining({ check: 'postgres role settings', severity: 'ok' }))
})

test.each(['session', 'transaction'] as const)(
  'a direct URL that leads to a pooler in %s mode is a fatal finding',
  async (mode) => {
    const { code, document } = await runDoctor(settings({ DATABASE_URL: database.url, DATABASE_DIRECT_URL: at(mode) }))
    const what = expect.stringContaining('goes through a pooler')
    expect(document.findings).toContainEqual(
      expect.objectContaining({ check: 'DATABASE_DIRECT_URL', severity: 'fatal', what })
    )
    expect(code).toBe(1)
  }
)

test('a direct URL of another database: no feed, and a fatal finding', async () => {
  const other = await createTestDatabase()
  const wrong = settings({ DATABASE_DIRECT_URL: other.url })
  const running = await startServiceProcess(wrong)
  service = running
  await until(() => timesLogged(running, '"event":"revocation_channel_lost"') === 1)
  expect(running.log()).toContain('the direct URL must name the same database')
  const { document } = await runDoctor(wrong)
  const what = expect.stringContaining('do not arrive')
  expect(document.findings).toContainEqual(
    expect.objectContaining({ check: 'DATABASE_DIRECT_URL', severity: 'fatal', what })
  )
  running.child.kill('SIGKILL')
  await running.exited
  await other.drop()
})

if (!keepsStatements) {
  test('a pooler in transaction mode that mixes up prepared statements: not ready, also with a direct URL', async () => {
    const running = await startServiceProcess(settings({ DATABASE_URL: at('transaction') }))
    service = running
    await until(() => timesLogged(running, '"event":"dependency_unavailable"') > 0)
    const reasons = { postgres: expect.stringContaining('loses prepared statements') }
    expect(await readiness(running)).toMatchObject([503, { reasons }])
  })
}

test('migrations refuse a pooler in transaction mode, and accept one in session mode', async () => {
  await expect(migrate(at('transaction'), MIGRATIONS)).rejects.toThrow('DATABASE_DIRECT_URL')
  expect(await migrate(at('session'), MIGRATIONS)).toEqual([])
})

test('the lock of an import is refused behind a pooler in transaction mode', async () => {
  const lockAt = async (url: string) => {
    const connected = connectPostgres(url, { connections: 1 })
    return createImportRuns(connected)
      .own(randomUUID())
      .finally(() => connected.close())
  }
  await expect(lockAt(at('transaction'))).rejects.toMatchObject({ name: 'StoreUnavailable' })
  expect(await lockAt(database.url)).toBe(true)
})

test('a pooler that stalls, and one that restarts, under load: only 503, then 200', async () => {
  const created = execFileSync(
    process.execPath,
    [COMMAND_LINE, 'resource-servers', 'create', '--name', 'files', '--audience', 'http://localhost:4100', '--json'],
    { env: { ...settings(), DATABASE_URL: at('transaction') }, encoding: 'utf8' }
  )
  const { client_id, client_secret } = JSON.parse(created)
  const pooler = await start(MODE)
  const port = Number(new URL(pooler.url).port)
  const network = await startFailingNetwork(port)
  const running = await startServiceProcess(settings({ DATABASE_URL: atPort(pooler.url, network.port) }))
  service = running
  const load = startLoad(running, basic({ clientId: client_id, clientSecret: client_secret }))
  await until(load.isServed)

  network.hold()
  await until(load.isRefused)
  network.release()
  await until(load.isServed)

  await pooler.stop()
  await until(load.isRefused)
  const again = await start(MODE, port)
  await until(load.isServed)

  expect(await load.stop()).toEqual([200, 503])
  await again.stop()
  await network.close()
})

/** Introspects a well-formed token without pause, which costs a query, with several requests at a time. */
function startLoad({ internalPort }: ServiceProcess, headers: Record<string, string>) {
  const statuses: number[] = []
  let isStopped = false
  const ask = async () => {
    const body = new URLSearchParams({ token: newOpaqueAccessToken(expiryBucket(new Date()), randomBytes) })
    while (!isStopped) {
      const response = await fetch(`http://127.0.0.1:${internalPort}/introspect`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      statuses.push(response.status)
    }
  }
  const all = Promise.all(Array.from({ length: 8 }, ask))
  const areLast = (status: number, count: number) =>
    statuses.length >= count && statuses.slice(-count).every((each) => each === status)
  return {
    isServed: () => areLast(200, 40),
    isRefused: () => areLast(503, 5),
    /** @returns every status that occurred */
    async stop(): Promise<number[]> {
      isStopped = true
      await all
      return [...new Set(statuses)].sort()
    }
  }
}
