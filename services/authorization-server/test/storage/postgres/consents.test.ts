import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { type ConsentStore, createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

const TEN = Array.from({ length: 10 }, (_, index) => `scope-${index}`)

let stores: MigratedDatabase
let consents: ConsentStore

beforeAll(async () => {
  stores = await createMigratedDatabase()
  consents = createConsentStore(stores.database)
  await newScopes(['a', 'b', 'c', ...TEN])
})
afterAll(() => stores.close())

async function newScopes(names: readonly string[]): Promise<void> {
  await stores.run('insert into scopes (name, title) select name, name from unnest($1::text[]) name', [names])
}

async function newUser(): Promise<string> {
  const userId = randomUUID()
  await stores.run('insert into users (user_id, username, password_hash, created_at) values ($1, $2, $3, now())', [
    userId,
    userId,
    'hash'
  ])
  return userId
}

async function newClient(): Promise<string> {
  const clientId = randomUUID()
  const text = `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at)
    values ($1, 'x', 'confidential', '{}', '{}', '{}', false, true, 'remember', now())`
  await stores.run(text, [clientId])
  return clientId
}

const pair = async () => [await newUser(), await newClient()] as const

test('findScope: empty at first, and for another user or client', async () => {
  const [user, client] = await pair()
  expect(await consents.findScope(user, client)).toEqual([])
  await consents.remember(user, client, ['files.read'])
  expect(await consents.findScope(user, client)).toEqual(['files.read'])
  expect(await consents.findScope(await newUser(), client)).toEqual([])
  expect(await consents.findScope(user, await newClient())).toEqual([])
})

test('remember: adds new scopes, keeps those that are not requested again, stores none twice', async () => {
  const [user, client] = await pair()
  await consents.remember(user, client, ['a', 'b'])
  await consents.remember(user, client, ['b', 'c'])
  await consents.remember(user, client, ['a'])
  expect((await consents.findScope(user, client)).toSorted()).toEqual(['a', 'b', 'c'])
})

test('remember: ten concurrent calls store all scopes in one row', async () => {
  const [user, client] = await pair()
  await Promise.all(TEN.map((scope) => consents.remember(user, client, [scope])))
  expect((await consents.findScope(user, client)).toSorted()).toEqual(TEN)
})

test('a consent is deleted with its user or client', async () => {
  const [user, client] = await pair()
  const [otherUser, otherClient] = await pair()
  await consents.remember(user, client, ['a'])
  await consents.remember(otherUser, otherClient, ['a'])
  await stores.run('delete from users where user_id = $1', [user])
  await stores.run('delete from clients where client_id = $1', [otherClient])
  expect(await consents.findScope(user, client)).toEqual([])
  expect(await consents.findScope(otherUser, otherClient)).toEqual([])
})

test('remember: stores nothing for a deleted user', async () => {
  const [user, client] = [randomUUID(), await newClient()]
  await consents.remember(user, client, ['a'])
  expect(await consents.findScope(user, client)).toEqual([])
})

test('remember: omits a scope that is not in the catalogue', async () => {
  const [user, client] = await pair()
  await consents.remember(user, client, ['a', 'deleted'])
  expect(await consents.findScope(user, client)).toEqual(['a'])
})

test.each<{ name: string; end(user: string, client: string): Promise<unknown> }>([
  {
    name: 'the pair',
    end: (user, client) =>
      stores.run('update consents set generation = generation + 1 where user_id = $1 and client_id = $2', [
        user,
        client
      ])
  },
  {
    name: 'the user',
    end: (user) =>
      stores.run('update users set authorization_generation = authorization_generation + 1 where user_id = $1', [user])
  },
  {
    name: 'the client',
    end: (_user, client) =>
      stores.run('update clients set authorization_generation = authorization_generation + 1 where client_id = $1', [
        client
      ])
  }
])('a consent from before the generation of $name was raised does not count, and is not restored', async ({ end }) => {
  const [user, client] = await pair()
  await consents.remember(user, client, ['a', 'b'])
  await end(user, client)
  expect(await consents.findScope(user, client)).toEqual([])
  await consents.remember(user, client, ['c'])
  expect(await consents.findScope(user, client)).toEqual(['c'])
})

test('deleteOfClient: deletes all rows of the client in steps, and no others', async () => {
  const [client, other] = [await newClient(), await newClient()]
  await stores.run(
    `with people as (
      insert into users (user_id, username, password_hash, created_at)
      select gen_random_uuid(), 'forget ' || n, 'hash', now() from generate_series(1, 30000) n
      returning user_id)
    insert into consents select user_id, c, '{a}', now() from people cross join unnest($1::text[]) c`,
    [[client, other]]
  )
  expect(await consents.deleteOfClient(client)).toBe(30_000)
  const left = await stores.run('select client_id, count(*)::int from consents where client_id = any ($1) group by 1', [
    [client, other]
  ])
  expect(left).toEqual([{ client_id: other, count: 30_000 }])
})

test('remember and forgetScope do not change the authorization generation', async () => {
  const [user, client] = await pair()
  await consents.remember(user, client, ['a', 'b'])
  await stores.run('update consents set generation = 3 where user_id = $1', [user])
  await consents.remember(user, client, ['b', 'c'])
  await consents.forgetScope('b')
  const rows = await stores.run('select scope, generation from consents where user_id = $1', [user])
  expect(rows).toEqual([{ scope: ['c'], generation: 3 }])
})

test('remember: after the end of access, replaces the scope and keeps the raised generation', async () => {
  const [user, client] = await pair()
  await consents.remember(user, client, ['a'])
  await createConnectedAppStore(stores.database).end(user, client)
  expect(await consents.findScope(user, client)).toEqual([])
  await consents.remember(user, client, ['b'])
  const rows = await stores.run('select scope, generation from consents where user_id = $1', [user])
  expect(rows).toEqual([{ scope: ['b'], generation: 1 }])
})
