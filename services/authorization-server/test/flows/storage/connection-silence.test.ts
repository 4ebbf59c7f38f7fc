import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type ConnectedDatabase, connectPostgres, StoreUnavailable } from '@valetkey/service-kit'
import { atPort, type FailingNetwork, startFailingNetwork } from '../../support/failing-network.js'

/** Of the statement that gets no response; the others end only if they hang. */
const STATEMENT_MS = 1_000
const HANG_MS = 150_000
const CONNECTIONS = 5

let testDatabase: TestDatabase
let network: FailingNetwork
let database: ConnectedDatabase

beforeAll(async () => {
  testDatabase = await createTestDatabase()
})
beforeEach(async () => {
  network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
  const url = atPort(testDatabase.url, network.port)
  database = connectPostgres(url, { connections: CONNECTIONS, statementMs: HANG_MS, connectMs: HANG_MS })
  await Promise.all(Array.from({ length: CONNECTIONS }, ask))
})
afterEach(async () => {
  await network.close()
  await database.close()
})
afterAll(() => testDatabase.drop())

const statement = { name: '', text: 'select pg_sleep(0.05)', values: [] }
const ask = () => database.query(statement)
const askInVain = () =>
  expect(database.query({ ...statement, withinMs: STATEMENT_MS })).rejects.toThrow(StoreUnavailable)

test('a server that stops without closing its connections fails one statement, not one for each idle connection', async () => {
  expect(database.pool()).toMatchObject({ idle: CONNECTIONS })
  network.strand()
  await askInVain()
  // Each of the idle connections would fail one of these.
  for (let count = 0; count < CONNECTIONS; count++) await ask()
})

test('connections that were used since a statement got no response stay open', async () => {
  const askPid = async () => {
    const rows = await database.query<{ pid: number }>({ name: '', text: 'select pg_backend_pid() as pid', values: [] })
    return rows[0]?.pid
  }
  const first = await askPid()
  network.strand()
  await askInVain()
  const second = await askPid()
  expect(second).not.toBe(first)
  expect(await askPid()).toBe(second)
})
