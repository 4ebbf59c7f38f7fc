import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createUserStore, type UserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { storeGrant } from '../../support/stored-grant.js'

const CREATED_AT = new Date('2026-11-21T08:00:00.123Z')

let stores: MigratedDatabase
let users: UserStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  users = createUserStore(atTime(stores.database, CREATED_AT))
})
afterAll(() => stores.close())

async function create(username: string): Promise<{ userId: string; created: boolean }> {
  const userId = randomUUID()
  return {
    userId,
    created: (await users.create({ userId, username, passwordHash: `hash of ${username}` }, NOTE)) !== undefined
  }
}

test('a user is found by id without the password hash, and by name with it', async () => {
  const { userId, created } = await create('alice')
  const user = {
    userId,
    username: 'alice',
    generation: 0,
    sessionGeneration: 0,
    createdAt: CREATED_AT,
    disabled: false
  }
  expect(created).toBe(true)
  expect(await users.findById(userId)).toEqual(user)
  expect(await users.findWithPassword('alice')).toEqual({ user, passwordHash: 'hash of alice' })
})

test.each(['Alice', 'alice ', 'ALICE', 'alic', '', "alice' or '1'='1", '%', 'a_ice'])(
  'no user has the name %j',
  async (name) => {
    expect(await users.findWithPassword(name)).toBeUndefined()
  }
)

describe('for sign-in', () => {
  const FIRST = '00000000-0000-0000-0000-000000000000'
  const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

  test('the decoy is the hash of the user with the next id, whether the name exists or not', async () => {
    const [next] = await stores.run('select password_hash from users order by user_id limit 1')
    const known = await users.findForSignIn('alice', FIRST)
    const unknown = await users.findForSignIn('unknown', FIRST)
    expect(known).toEqual({ found: await users.findWithPassword('alice'), decoyHash: next?.password_hash })
    expect(unknown).toEqual({ found: undefined, decoyHash: next?.password_hash })
  })

  test('after the last id there is no decoy', async () => {
    expect(await users.findForSignIn('unknown', LAST)).toEqual({ found: undefined, decoyHash: undefined })
    expect((await users.findForSignIn('alice', LAST)).found?.user.username).toBe('alice')
  })
})

test('an unknown id finds no user', async () => {
  expect(await users.findById(randomUUID())).toBeUndefined()
})

test('a name is unique: of ten concurrent creations one succeeds', async () => {
  const results = await Promise.all(Array.from({ length: 10 }, () => create('bob')))
  const winners = results.filter(({ created }) => created)
  expect(winners).toHaveLength(1)
  expect((await users.findWithPassword('bob'))?.user.userId).toBe(winners[0]?.userId)
})

test('an error other than a taken name is thrown', async () => {
  const bad = { userId: 'no uuid', username: 'carol', passwordHash: 'hash' }
  await expect(users.create(bad, NOTE)).rejects.toThrow(/uuid/)
})

test('the list is sorted by name and shows disabled users', async () => {
  const { userId } = await create('aaron')
  await stores.run('update users set disabled_at = now(), generation = 7 where user_id = $1', [userId])
  const found = await users.list({ limit: 1_000 })
  expect(found.map(({ username }) => username)).toEqual(['aaron', 'alice', 'bob'])
  expect(found[0]).toMatchObject({ disabled: true, generation: 7 })
  expect((await users.findWithPassword('aaron'))?.user).toMatchObject({ disabled: true, generation: 7 })
  for (const user of found) expect(user).not.toHaveProperty('passwordHash')
})

describe('changes of a user', () => {
  const generationOf = async (userId: string) => (await users.findById(userId))?.generation

  test('disabling and a new password raise the generation; enabling does not', async () => {
    const { userId } = await create('dora')
    expect(await users.disable(userId, NOTE)).toMatchObject({ disabled: true, generation: 1 })
    expect(await users.enable(userId, NOTE)).toMatchObject({ disabled: false, generation: 1 })
    expect(await users.setPassword(userId, 'another hash', NOTE)).toMatchObject({ generation: 2 })
    expect((await users.findWithPassword('dora'))?.passwordHash).toBe('another hash')
  })

  test('of ten concurrent calls one disables the user', async () => {
    const { userId } = await create('emil')
    const results = await Promise.all(Array.from({ length: 10 }, () => users.disable(userId, NOTE)))
    expect(results.filter((result) => result !== undefined)).toHaveLength(1)
    expect(await generationOf(userId)).toBe(1)
  })

  test('enabling an enabled user and changing an unknown user change nothing', async () => {
    const { userId } = await create('frida')
    expect(await users.enable(userId, NOTE)).toBeUndefined()
    const unknownId = randomUUID()
    expect(await users.disable(unknownId, NOTE)).toBeUndefined()
    expect(await users.setPassword(unknownId, 'hash', NOTE)).toBeUndefined()
    expect(await users.delete(unknownId, NOTE)).toBeUndefined()
  })

  test('deleting a user deletes remembered consents and leaves grants to housekeeping', async () => {
    const grant = await storeGrant(stores.database, CREATED_AT)
    const { userId, clientId } = grant
    await stores.run(
      `insert into consents (user_id, client_id, audience, scope, newest_scope, granted_at)
      values ($1, $2, 'https://files.example', '{files.read}', 1000, now())`,
      [userId, clientId]
    )
    expect(await users.delete(userId, NOTE)).toMatchObject({ userId })
    expect(await stores.run('select 1 as one from consents where user_id = $1', [userId])).toEqual([])
    expect(await stores.run('select 1 as one from grants where user_id = $1', [userId])).toHaveLength(1)
  })
})

test('the list continues after the last name of a page', async () => {
  const all = await users.list({ limit: 1_000 })
  const [first, second] = await users.list({ limit: 2 })
  expect([first, second]).toEqual(all.slice(0, 2))
  expect(await users.list({ after: second?.username, limit: 1_000 })).toEqual(all.slice(2))
})
