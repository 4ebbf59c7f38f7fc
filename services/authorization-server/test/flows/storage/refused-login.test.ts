import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, type Database } from '@valetkey/service-kit'
import { Client } from 'pg'

let testDatabase: TestDatabase
let owner: Client
let role: string
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  owner = new Client({ connectionString: testDatabase.url })
  await owner.connect()
  role = `service_${new URL(testDatabase.url).pathname.slice(1)}`
  await owner.query(`create role ${role} login password 'secret'`)
})
afterAll(async () => {
  await owner.query(`drop role ${role}`)
  await owner.end()
  await testDatabase.drop()
})

async function connected(url: URL, use: (database: Database) => Promise<void>): Promise<void> {
  const database = connectPostgres(url.href, { connections: 1 })
  await use(database).finally(() => database.close())
}

const ask = (database: Database) => database.query({ name: 'one', text: 'select 1 as one', values: [] })
const UNAVAILABLE = { name: 'StoreUnavailable' }

test('a role that may not log in any more: Postgres is unavailable until it may', async () => {
  const url = new URL(testDatabase.url)
  url.username = role
  url.password = 'secret'
  await owner.query(`alter role ${role} nologin`)
  await connected(url, async (database) => {
    await expect(ask(database)).rejects.toMatchObject(UNAVAILABLE)
    await owner.query(`alter role ${role} login`)
    expect(await ask(database)).toEqual([{ one: 1 }])
  })
})

test('a missing database, as during a restore: Postgres is unavailable', async () => {
  const url = new URL(testDatabase.url)
  url.pathname = '/there_is_no_such_database'
  await connected(url, async (database) => {
    await expect(ask(database)).rejects.toMatchObject(UNAVAILABLE)
  })
})
