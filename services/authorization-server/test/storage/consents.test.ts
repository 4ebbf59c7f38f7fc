import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type ConsentStore, createConsentStore } from '../../src/storage/consents.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'

const NOW = new Date('2026-11-21T08:00:00Z')

let stores: MigratedDatabase
let consents: ConsentStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  consents = createConsentStore(stores.database)
})
afterAll(() => stores.close())

async function newUser(): Promise<string> {
  const userId = randomUUID()
  await stores.run('insert into users values ($1, $2, $3, 0, now())', [userId, userId, 'hash'])
  return userId
}

async function newClient(): Promise<string> {
  const clientId = randomUUID()
  const text = `insert into clients values ($1, 'x', 'confidential', '{}', '{}', '{}', false, true, 'remember', 0, now())`
  await stores.run(text, [clientId])
  return clientId
}

const pair = async () => [await newUser(), await newClient()] as const

test('nothing is remembered at first, and nothing for another user or client', async () => {
  const [user, client] = await pair()
  expect(await consents.findScope(user, client)).toEqual([])
  await consents.remember(user, client, ['files.read'], NOW)
  expect(await consents.findScope(user, client)).toEqual(['files.read'])
  expect(await consents.findScope(await newUser(), client)).toEqual([])
  expect(await consents.findScope(user, await newClient())).toEqual([])
})

test('what is allowed later is added; a smaller request narrows nothing, a repeated scope stands once', async () => {
  const [user, client] = await pair()
  await consents.remember(user, client, ['a', 'b'], NOW)
  await consents.remember(user, client, ['b', 'c'], NOW)
  await consents.remember(user, client, ['a'], NOW)
  expect((await consents.findScope(user, client)).toSorted()).toEqual(['a', 'b', 'c'])
})

test('ten at once are all remembered, in one row', async () => {
  const [user, client] = await pair()
  const scopes = Array.from({ length: 10 }, (_, index) => `scope-${index}`)
  await Promise.all(scopes.map((scope) => consents.remember(user, client, [scope], NOW)))
  expect((await consents.findScope(user, client)).toSorted()).toEqual(scopes)
})

test('it goes with its user and with its client', async () => {
  const [user, client] = await pair()
  const [otherUser, otherClient] = await pair()
  await consents.remember(user, client, ['a'], NOW)
  await consents.remember(otherUser, otherClient, ['a'], NOW)
  await stores.run('delete from users where user_id = $1', [user])
  await stores.run('delete from clients where client_id = $1', [otherClient])
  expect(await consents.findScope(user, client)).toEqual([])
  expect(await consents.findScope(otherUser, otherClient)).toEqual([])
})

test('of a user who was deleted meanwhile nothing is remembered', async () => {
  await expect(consents.remember(randomUUID(), await newClient(), ['a'], NOW)).rejects.toThrow(/foreign key/)
})

test('a client is forgotten in steps, whoever allowed it among however many, and no other is', async () => {
  const [client, other] = [await newClient(), await newClient()]
  await stores.run(
    `with people as (
      insert into users select gen_random_uuid(), 'forget ' || n, 'hash', 0, now() from generate_series(1, 30000) n
      returning user_id)
    insert into consents select user_id, c, '{a}', now() from people cross join unnest($1::text[]) c`,
    [[client, other]]
  )
  await consents.forgetClient(client)
  const left = await stores.run('select client_id, count(*)::int from consents where client_id = any ($1) group by 1', [
    [client, other]
  ])
  expect(left).toEqual([{ client_id: other, count: 30_000 }])
})
