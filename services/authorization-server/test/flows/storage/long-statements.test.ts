import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type ConnectedDatabase, connectPostgres, LONG_STATEMENT_MS } from '@valetkey/service-kit'

let testDatabase: TestDatabase
let database: ConnectedDatabase

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  database = connectPostgres(testDatabase.url, { connections: 1 })
  await database.query({ name: '', text: SLOW_COMMIT, values: [] })
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

/** A commit takes longer than preparing a connection may take, as when a standby is slow to confirm it. */
const SLOW_COMMIT = `do $$ begin
  create table kept (id integer);
  create function wait_at_commit() returns trigger language plpgsql as 'begin perform pg_sleep(1.3); return null; end';
  create constraint trigger wait after insert on kept deferrable initially deferred
    for each row execute function wait_at_commit();
end $$`

test('a statement with a long time limit succeeds although its commit takes more than a second', async () => {
  const insert = { name: 'test_keep', text: 'insert into kept values (1) returning id', values: [] }
  expect(await database.query({ ...insert, withinMs: LONG_STATEMENT_MS })).toEqual([{ id: 1 }])
  expect(await database.query({ name: 'test_kept', text: 'select id from kept', values: [] })).toEqual([{ id: 1 }])
})
