import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { Client } from 'pg'
import { runCommand } from '../../support/command-line.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let stores: MigratedDatabase
let listener: Client
let heard: object[]
let grant: StoredGrant

beforeAll(async () => {
  stores = await createMigratedDatabase()
  listener = new Client({ connectionString: stores.url })
  await listener.connect()
  await listener.query('listen valetkey_revocations')
  listener.on('notification', ({ payload }) => heard.push(read(payload ?? '')))
})
beforeEach(async () => {
  heard = []
  grant = await storeGrant(stores.database, new Date())
})
afterAll(async () => {
  await listener.end()
  await stores.close()
})

/** The announcement without its audience. */
function read(payload: string): object {
  const { audience: _, ...ended } = JSON.parse(payload)
  return ended
}

/** The revocation events of a command. */
async function announced(...args: string[]): Promise<object[]> {
  expect((await runCommand(stores.database, [...args, '--yes'])).code).toBe(0)
  // Postgres delivers notifications before the result of the listener's next statement.
  await listener.query('select 1')
  return heard
}

test.each(['disable', 'delete'])('users %s announces the user (contract 3)', async (command) => {
  expect(await announced('users', command, grant.userId)).toEqual([{ sub: grant.userId }])
})

test('users set-password announces the user', async () => {
  const args = ['users', 'set-password', grant.userId, '--password-stdin']
  await runCommand(stores.database, args, { stdin: 'a new long password' })
  await listener.query('select 1')
  expect(heard).toEqual([{ sub: grant.userId }])
})

test('users enable announces nothing', async () => {
  await runCommand(stores.database, ['users', 'disable', grant.userId, '--yes'])
  await listener.query('select 1')
  heard = []
  await runCommand(stores.database, ['users', 'enable', grant.userId])
  await listener.query('select 1')
  expect(heard).toEqual([])
})

test('grants revoke announces the grant, the user or the client', async () => {
  expect(await announced('grants', 'revoke', grant.grantId)).toEqual([{ grant_id: grant.grantId }])
  heard = []
  await storeGrant(stores.database, new Date(), grant)
  expect(await announced('grants', 'revoke', '--user', grant.userId)).toEqual([{ sub: grant.userId }])
  heard = []
  const both = ['--user', grant.userId, '--client', grant.clientId]
  expect(await announced('grants', 'revoke', ...both)).toEqual([{ sub: grant.userId }])
  heard = []
  expect(await announced('grants', 'revoke', '--client', grant.clientId)).toEqual([{ client_id: grant.clientId }])
})
