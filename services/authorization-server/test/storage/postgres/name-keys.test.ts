import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { nameKeys, userNameKey } from '@valetkey/sign-in-rules'
import { renewNameKeys } from '../../../src/storage/postgres/name-keys.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let world: MigratedDatabase

beforeAll(async () => {
  world = await createMigratedDatabase()
})
beforeEach(async () => {
  await world.run('delete from clients')
  await world.run('delete from users')
})
afterAll(() => world.close())

const renew = () => renewNameKeys(world.database)
const keysOfUsers = async () => {
  const rows = await world.run<{ username: string; name_key: string | null }>('select username, name_key from users')
  return Object.fromEntries(rows.map((row) => [row.username, row.name_key]))
}
describe('keys of user names', () => {
  test('are stored with each new user', async () => {
    await createUserStore(world.database).create(
      { userId: randomUUID(), username: 'Rita', passwordHash: undefined },
      NOTE
    )
    expect(await keysOfUsers()).toEqual({ Rita: userNameKey('Rita') })
  })

  test('are made for users that have none or an earlier one, in several batches and twice at once', async () => {
    await world.run(`insert into users (user_id, username, canonical_name, created_at, name_key)
      select gen_random_uuid(), 'user ' || n, 'user ' || n, now(), case when n % 2 = 0 then '0:x' end from generate_series(1, 2500) n`)
    await Promise.all([renew(), renew()])
    const keys = await keysOfUsers()
    expect(Object.keys(keys)).toHaveLength(2_500)
    expect(Object.entries(keys).filter(([name, key]) => key !== userNameKey(name))).toEqual([])
  })
})

describe('keys of names of apps', () => {
  const insertClient = (clientId: string, name: string, keys: string) =>
    world.run(`insert into clients (client_id, name, name_keys, type, redirect_uris, required_scopes, optional_scopes,
      requires_pkce, issues_refresh_tokens, consent, created_at)
      values ('${clientId}', '${name}', ${keys}, 'public', '{}', '{}', '{}', true, true, 'ask', now())`)

  test('are made for registered clients with those of earlier rules; a client without keys stays without', async () => {
    await insertClient('one', 'Wind Chimes', `'{windchimes}'`)
    await insertClient('two', 'Wind Chimes', 'null')
    await renew()
    const rows = await world.run('select client_id, name_keys from clients order by client_id')
    expect(rows).toEqual([
      { client_id: 'one', name_keys: nameKeys('Wind Chimes') },
      { client_id: 'two', name_keys: null }
    ])
  })
})
