import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, StoreUnavailable } from '@valetkey/service-kit'
import { atPort, startFailingNetwork } from '../../support/failing-network.js'

const STATEMENT_MS = 1_000
/** No connection takes that long in a test. */
const HANG_MS = 150_000

let testDatabase: TestDatabase

beforeAll(async () => {
  testDatabase = await createTestDatabase()
})
afterAll(() => testDatabase.drop())

const ask = { name: 'test_one', text: 'select 1 as one', values: [] }

test('a statement that waits for a connection fails at its time limit, and the connection serves the next one', async () => {
  const network = await startFailingNetwork(Number(new URL(testDatabase.url).port))
  network.hold()
  const url = atPort(testDatabase.url, network.port)
  const database = connectPostgres(url, { connections: 1, statementMs: STATEMENT_MS, connectMs: HANG_MS })
  await expect(database.query(ask)).rejects.toThrow(StoreUnavailable)
  network.release()
  expect(await database.query(ask)).toEqual([{ one: 1 }])
  expect(database.pool()).toMatchObject({ inUse: 0, idle: 1 })
  await database.close()
  await network.close()
})
