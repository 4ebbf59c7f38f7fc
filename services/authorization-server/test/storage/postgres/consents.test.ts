import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { type ConsentStore, createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { readGenerations, rememberConsent } from '../../support/remember-consent.js'

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
    values ($1, 'x', 'confidential', '{}', $2, '{}', false, true, 'remember', now())`
  await stores.run(text, [clientId, ['files.read', 'a', 'b', 'c', ...TEN]])
  return clientId
}

const pair = async () => [await newUser(), await newClient()] as const
const FILES = 'https://files.example'
const remember = (userId: string, clientId: string, scope: readonly string[], audience = FILES) =>
  rememberConsent(stores.database, { userId, clientId, audience }, scope)
const findScope = (userId: string, clientId: string, audience = FILES) =>
  consents.findScope({ userId, clientId, audience })

test('findScope: empty at first, and for another user or client', async () => {
  const [user, client] = await pair()
  expect(await findScope(user, client)).toEqual([])
  await remember(user, client, ['files.read'])
  expect(await findScope(user, client)).toEqual(['files.read'])
  expect(await findScope(await newUser(), client)).toEqual([])
  expect(await findScope(user, await newClient())).toEqual([])
})

test('remember: adds new scopes, keeps those that are not requested again, stores none twice', async () => {
  const [user, client] = await pair()
  await remember(user, client, ['a', 'b'])
  await remember(user, client, ['b', 'c'])
  await remember(user, client, ['a'])
  expect((await findScope(user, client)).toSorted()).toEqual(['a', 'b', 'c'])
})

test('remember: ten concurrent calls store all scopes in one row', async () => {
  const [user, client] = await pair()
  await Promise.all(TEN.map((scope) => remember(user, client, [scope])))
  expect((await findScope(user, client)).toSorted()).toEqual(TEN)
})

test('a consent is deleted with its user or client', async () => {
  const [user, client] = await pair()
  const [otherUser, otherClient] = await pair()
  await remember(user, client, ['a'])
  await remember(otherUser, otherClient, ['a'])
  await stores.run('delete from users where user_id = $1', [user])
  await stores.run('delete from clients where client_id = $1', [otherClient])
  expect(await findScope(user, client)).toEqual([])
  expect(await findScope(otherUser, otherClient)).toEqual([])
})

test('remember: stores nothing for a deleted user', async () => {
  const [user, client] = [randomUUID(), await newClient()]
  await remember(user, client, ['a'])
  expect(await findScope(user, client)).toEqual([])
})

test('remember: omits a scope that is not in the catalogue', async () => {
  const [user, client] = await pair()
  await remember(user, client, ['a', 'deleted'])
  expect(await findScope(user, client)).toEqual(['a'])
})

test.each<{ name: string; end(user: string, client: string): Promise<unknown> }>([
  {
    name: 'the pair',
    end: (user, client) => createConnectedAppStore(stores.database).end(user, client)
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
  await remember(user, client, ['a', 'b'])
  await end(user, client)
  expect(await findScope(user, client)).toEqual([])
  await remember(user, client, ['c'])
  expect(await findScope(user, client)).toEqual(['c'])
})

test.each(['userGeneration', 'clientGeneration', 'authorizationGeneration'] as const)(
  'remember: stores nothing after the %s of Allow has grown',
  async (member) => {
    const [userId, clientId] = await pair()
    const key = { userId, clientId, audience: FILES }
    const current = await readGenerations(stores.database, key)
    await consents.remember(key, { scope: ['a'], declined: [], ...current, [member]: current[member] - 1 })
    expect(await findScope(userId, clientId)).toEqual([])
    await consents.remember(key, { scope: ['a'], declined: [], ...current })
    expect(await findScope(userId, clientId)).toEqual(['a'])
  }
)

test('deleteOfClient: deletes all rows of the client in steps, and no others', async () => {
  const [client, other] = [await newClient(), await newClient()]
  await stores.run(
    `with people as (
      insert into users (user_id, username, password_hash, created_at)
      select gen_random_uuid(), 'forget ' || n, 'hash', now() from generate_series(1, 15000) n
      returning user_id)
    insert into consents (user_id, client_id, audience, scope, newest_scope, granted_at)
      select user_id, c, audience, '{a}', 1, now()
    from people cross join unnest($1::text[]) c cross join unnest('{https://files.example,https://b.example}'::text[]) audience`,
    [[client, other]]
  )
  expect(await consents.deleteOfClient(client)).toBe(30_000)
  const left = await stores.run('select client_id, count(*)::int from consents where client_id = any ($1) group by 1', [
    [client, other]
  ])
  expect(left).toEqual([{ client_id: other, count: 30_000 }])
})

test('remember: after the end of access, replaces the scope', async () => {
  const [user, client] = await pair()
  await remember(user, client, ['a'])
  await createConnectedAppStore(stores.database).end(user, client)
  expect(await findScope(user, client)).toEqual([])
  await remember(user, client, ['b'])
  expect(await findScope(user, client)).toEqual(['b'])
})

test('a consent is for one API; the end of access ends those for all APIs', async () => {
  const [user, client] = await pair()
  const reports = 'https://reports.example'
  await remember(user, client, ['a', 'b'])
  await remember(user, client, ['c'], reports)
  expect((await findScope(user, client)).toSorted()).toEqual(['a', 'b'])
  expect(await findScope(user, client, reports)).toEqual(['c'])
  expect(await findScope(user, client, `${reports}/`)).toEqual([])
  await createConnectedAppStore(stores.database).end(user, client)
  expect(await findScope(user, client)).toEqual([])
  expect(await findScope(user, client, reports)).toEqual([])
})
