import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createUserStore, type UserStore } from '../../src/storage/users.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'

const CREATED_AT = new Date('2026-11-21T08:00:00.123Z')

let stores: MigratedDatabase
let users: UserStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  users = createUserStore(stores.database)
})
afterAll(() => stores.close())

async function create(username: string): Promise<{ userId: string; created: boolean }> {
  const userId = randomUUID()
  return {
    userId,
    created: await users.create({ userId, username, passwordHash: `hash of ${username}`, createdAt: CREATED_AT })
  }
}

test('a user is found by id without, and by name with the password’s hash', async () => {
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
  'nobody is called %j',
  async (name) => {
    expect(await users.findWithPassword(name)).toBeUndefined()
  }
)

test('nobody has an unknown id', async () => {
  expect(await users.findById(randomUUID())).toBeUndefined()
})

test('a name is given once, of ten at once to one', async () => {
  const results = await Promise.all(Array.from({ length: 10 }, () => create('bob')))
  const winners = results.filter(({ created }) => created)
  expect(winners).toHaveLength(1)
  expect((await users.findWithPassword('bob'))?.user.userId).toBe(winners[0]?.userId)
})

test('another refusal than a taken name is an error and not "taken"', async () => {
  const bad = { userId: 'no uuid', username: 'carol', passwordHash: 'hash', createdAt: CREATED_AT }
  await expect(users.create(bad)).rejects.toThrow(/uuid/)
})

test('the list is by name, and shows who is disabled', async () => {
  const { userId } = await create('aaron')
  await stores.run('update users set disabled_at = now(), generation = 7 where user_id = $1', [userId])
  const found = await users.list()
  expect(found.map(({ username }) => username)).toEqual(['aaron', 'alice', 'bob'])
  expect(found[0]).toMatchObject({ disabled: true, generation: 7 })
  expect((await users.findWithPassword('aaron'))?.user).toMatchObject({ disabled: true, generation: 7 })
  for (const user of found) expect(user).not.toHaveProperty('passwordHash')
})
