import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { canonicalName } from '@valetkey/sign-in-rules'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { type ConsentStore, createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createUserStore, type UserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { readGenerations, rememberConsent } from '../../support/remember-consent.js'
import { storeGrant } from '../../support/stored-grant.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
afterAll(() => stores.close())

describe('users', () => {
  const CREATED_AT = new Date('2026-11-21T08:00:00.123Z')
  let users: UserStore

  beforeAll(async () => {
    users = createUserStore(atTime(stores.database, CREATED_AT))
  })

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
    expect(await users.findWithPassword(canonicalName('alice'))).toEqual({ user, passwordHash: 'hash of alice' })
  })

  test.each(['Ali ce', 'álice', 'аlice', 'alic', '', "alice' or '1'='1", '%', 'a_ice'])(
    'no user has the name %j',
    async (name) => {
      expect(await users.findWithPassword(canonicalName(name))).toBeUndefined()
    }
  )

  describe('for sign-in', () => {
    const FIRST = '00000000-0000-0000-0000-000000000000'
    const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

    test('the decoy is the hash of the user with the next id, whether the name exists or not', async () => {
      const [next] = await stores.run('select password_hash from users order by user_id limit 1')
      const known = await users.findForSignIn(canonicalName('alice'), FIRST)
      const unknown = await users.findForSignIn(canonicalName('unknown'), FIRST)
      expect(known).toEqual({
        found: await users.findWithPassword(canonicalName('alice')),
        decoyHash: next?.password_hash
      })
      expect(unknown).toEqual({ found: undefined, decoyHash: next?.password_hash })
    })

    test('after the last id there is no decoy', async () => {
      expect(await users.findForSignIn(canonicalName('unknown'), LAST)).toEqual({
        found: undefined,
        decoyHash: undefined
      })
      expect((await users.findForSignIn(canonicalName('alice'), LAST)).found?.user.username).toBe('alice')
    })
  })

  test('an unknown id finds no user', async () => {
    expect(await users.findById(randomUUID())).toBeUndefined()
  })

  test('a name is unique: of ten concurrent creations one succeeds', async () => {
    const results = await Promise.all(Array.from({ length: 10 }, () => create('bob')))
    const winners = results.filter(({ created }) => created)
    expect(winners).toHaveLength(1)
    expect((await users.findWithPassword(canonicalName('bob')))?.user.userId).toBe(winners[0]?.userId)
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
    expect((await users.findWithPassword(canonicalName('aaron')))?.user).toMatchObject({
      disabled: true,
      generation: 7
    })
    for (const user of found) expect(user).not.toHaveProperty('passwordHash')
  })

  describe('changes of a user', () => {
    const generationOf = async (userId: string) => (await users.findById(userId))?.generation

    test('disabling and a new password raise the generation; enabling does not', async () => {
      const { userId } = await create('dora')
      expect(await users.disable(userId, NOTE)).toMatchObject({ disabled: true, generation: 1 })
      expect(await users.enable(userId, NOTE)).toMatchObject({ disabled: false, generation: 1 })
      expect(await users.setPassword(userId, 'another hash', NOTE)).toMatchObject({ generation: 2 })
      expect((await users.findWithPassword(canonicalName('dora')))?.passwordHash).toBe('another hash')
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
})

describe('consents', () => {
  const TEN = Array.from({ length: 10 }, (_, index) => `scope-${index}`)
  let consents: ConsentStore

  beforeAll(async () => {
    consents = createConsentStore(stores.database)
    await newScopes(['a', 'b', 'c', ...TEN])
  })

  async function newScopes(names: readonly string[]): Promise<void> {
    await stores.run('insert into scopes (name, title) select name, name from unnest($1::text[]) name', [names])
  }

  async function newUser(): Promise<string> {
    const userId = randomUUID()
    await stores.run(
      'insert into users (user_id, username, canonical_name, password_hash, created_at) values ($1, $2, $2, $3, now())',
      [userId, userId, 'hash']
    )
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
        stores.run('update users set authorization_generation = authorization_generation + 1 where user_id = $1', [
          user
        ])
    },
    {
      name: 'the client',
      end: (_user, client) =>
        stores.run('update clients set authorization_generation = authorization_generation + 1 where client_id = $1', [
          client
        ])
    }
  ])(
    'a consent from before the generation of $name was raised does not count, and is not restored',
    async ({ end }) => {
      const [user, client] = await pair()
      await remember(user, client, ['a', 'b'])
      await end(user, client)
      expect(await findScope(user, client)).toEqual([])
      await remember(user, client, ['c'])
      expect(await findScope(user, client)).toEqual(['c'])
    }
  )

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
      insert into users (user_id, username, canonical_name, password_hash, created_at)
      select gen_random_uuid(), 'forget ' || n, 'forget ' || n, 'hash', now() from generate_series(1, 15000) n
      returning user_id)
    insert into consents (user_id, client_id, audience, scope, newest_scope, granted_at)
      select user_id, c, audience, '{a}', 1, now()
    from people cross join unnest($1::text[]) c cross join unnest('{https://files.example,https://b.example}'::text[]) audience`,
      [[client, other]]
    )
    expect(await consents.deleteOfClient(client)).toBe(30_000)
    const left = await stores.run(
      'select client_id, count(*)::int from consents where client_id = any ($1) group by 1',
      [[client, other]]
    )
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
})
