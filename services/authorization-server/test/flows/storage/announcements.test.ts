import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Client } from 'pg'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { type ObservedDatabase, openObservedDatabase } from '../../support/received-endings.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let world: ObservedDatabase
let grant: StoredGrant
const now = new Date()

beforeAll(async () => {
  world = await openObservedDatabase()
})
beforeEach(async () => {
  grant = await storeGrant(world.database, now)
  await world.announced()
})
afterAll(() => world.close())

/** As announced with the audience of the grant. */
const ended = (data: object) => ({ ...data, audience: 'https://files.example' })

test('deleting a grant with expired first tokens and active refreshed tokens sends a notification', async () => {
  await world.operator.query(
    `update grants set expires_at = now() - interval '1 hour', extended_until = now() + interval '1 hour'
      where grant_id = $1`,
    [grant.grantId]
  )
  await world.operator.query('delete from grants where grant_id = $1', [grant.grantId])
  expect(await world.announced()).toEqual([ended({ grant_id: grant.grantId })])
})

describe('the transaction that commits the change sends a notification', () => {
  test.each<{ name: string; sql: string; by(): string; data(): object }>([
    {
      name: 'an access token is revoked',
      sql: 'update access_tokens set revoked_at = now() where token_id = $1',
      by: () => grant.access.tokenId,
      data: () => ended({ jti: grant.access.tokenId })
    },
    {
      name: 'an active access token is deleted',
      sql: 'delete from access_tokens where token_id = $1',
      by: () => grant.access.tokenId,
      data: () => ended({ jti: grant.access.tokenId })
    },
    {
      name: 'a grant is ended',
      sql: 'update grants set ended_at = now() where grant_id = $1',
      by: () => grant.grantId,
      data: () => ended({ grant_id: grant.grantId })
    },
    {
      name: 'an active grant is deleted',
      sql: 'delete from grants where grant_id = $1',
      by: () => grant.grantId,
      data: () => ended({ grant_id: grant.grantId })
    },
    {
      name: 'the generation of a user is raised',
      sql: 'update users set generation = generation + 1 where user_id = $1',
      by: () => grant.userId,
      data: () => ({ sub: grant.userId })
    },
    {
      name: 'a user is deleted',
      sql: 'delete from users where user_id = $1',
      by: () => grant.userId,
      data: () => ({ sub: grant.userId })
    },
    {
      name: 'the generation of a client is raised',
      sql: 'update clients set generation = generation + 1 where client_id = $1',
      by: () => grant.clientId,
      data: () => ({ client_id: grant.clientId })
    },
    {
      name: 'the number of all authorizations of a user is raised',
      sql: 'update users set authorization_generation = authorization_generation + 1 where user_id = $1',
      by: () => grant.userId,
      data: () => ({ sub: grant.userId })
    },
    {
      name: 'the number of all authorizations of a client is raised',
      sql: 'update clients set authorization_generation = authorization_generation + 1 where client_id = $1',
      by: () => grant.clientId,
      data: () => ({ client_id: grant.clientId })
    },
    {
      name: 'a client loses a scope',
      sql: `update clients set required_scopes = '{files.read}' where client_id = $1`,
      by: () => grant.clientId,
      data: () => ({ client_id: grant.clientId })
    },
    {
      name: 'a client gets a scope',
      sql: `update clients set optional_scopes = '{files.read:media}' where client_id = $1`,
      by: () => grant.clientId,
      data: () => ({ client_id: grant.clientId })
    },
    {
      name: 'a client is limited to an API',
      sql: `update clients set audiences = '{https://files.example}' where client_id = $1`,
      by: () => grant.clientId,
      data: () => ({ client_id: grant.clientId })
    },
    {
      name: 'a client is deleted',
      sql: 'delete from clients where client_id = $1',
      by: () => grant.clientId,
      data: () => ({ client_id: grant.clientId })
    },
    {
      name: 'the generation of all authorizations of a user is raised',
      sql: 'update users set authorization_generation = authorization_generation + 1 where user_id = $1',
      by: () => grant.userId,
      data: () => ({ sub: grant.userId })
    },
    {
      name: 'an authorization ends for the first time',
      sql: `insert into authorizations (user_id, client_id, generation)
        select user_id, client_id, 1 from grants where grant_id = $1`,
      by: () => grant.grantId,
      data: () => ({ sub: grant.userId })
    }
  ])('$name', async ({ sql, by, data }) => {
    await world.operator.query(sql, [by()])
    expect(await world.announced()).toEqual([data()])
  })

  test('without an audience, if the grant was deleted or its audience is too long for a notification', async () => {
    await world.operator.query('delete from grants where grant_id = $1', [grant.grantId])
    await world.operator.query('update access_tokens set revoked_at = now() where token_id = $1', [
      grant.access.tokenId
    ])
    const other = await storeGrant(world.database, now)
    await world.operator.query("update grants set audience = repeat('\"', 8000) where grant_id = $1", [other.grantId])
    await world.operator.query('update grants set ended_at = now() where grant_id = $1', [other.grantId])
    const bare = [{ jti: grant.access.tokenId }, { grant_id: other.grantId }]
    expect(await world.announced()).toEqual([ended({ grant_id: grant.grantId }), ...bare])
  })

  test('with every search path of the statement', async () => {
    await world.operator.query('set search_path = pg_catalog')
    await world.operator.query('update public.access_tokens set revoked_at = now() where token_id = $1', [
      grant.access.tokenId
    ])
    await world.operator.query('reset search_path')
    expect(await world.announced()).toEqual([ended({ jti: grant.access.tokenId })])
  })

  test.each(['users cascade', 'clients cascade', 'grants', 'refresh_tokens', 'access_tokens'])(
    'truncate %s: one notification',
    async (what) => {
      await world.operator.query(`truncate ${what}`)
      expect(await world.announced()).toEqual([{ reset: what.split(' ')[0] }])
    }
  )

  test('a second end of an authorization sends a notification', async () => {
    await createConnectedAppStore(world.database).end(grant.userId, grant.clientId)
    await world.announced()
    for (let time = 0; time < 2; time++) {
      await world.operator.query('update authorizations set generation = generation + 1 where user_id = $1', [
        grant.userId
      ])
      expect(await world.announced()).toEqual([{ sub: grant.userId }])
    }
  })

  test('a user ends the access of a client, first and second time', async () => {
    const apps = createConnectedAppStore(world.database)
    for (let time = 0; time < 2; time += 1) {
      await apps.end(grant.userId, grant.clientId)
      expect(await world.announced()).toEqual([{ sub: grant.userId }])
    }
  })

  test('no notification before the commit', async () => {
    const other = new Client({ connectionString: world.url })
    await other.connect()
    await other.query('begin')
    await other.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toEqual([])
    await other.query('commit')
    await other.end()
    expect(await world.announced()).toEqual([ended({ grant_id: grant.grantId })])
  })

  test('no notification after a rollback', async () => {
    await world.operator.query('begin')
    await world.operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    await world.operator.query('delete from users where user_id = $1', [grant.userId])
    await world.operator.query('rollback')
    expect(await world.announced()).toEqual([])
  })
})

test.each([
  { name: 'is deleted', sql: `delete from scopes where name = 'lost.read'` },
  { name: 'moves to another API', sql: `update scopes set audience = 'https://b.example' where name = 'lost.read'` },
  { name: 'is not discoverable any more', sql: `update scopes set is_discoverable = false where name = 'lost.read'` },
  { name: 'belongs to an API whose last credential is deleted', sql: `delete from resource_servers` }
])('a scope that $name may be in any token: one reset', async ({ sql }) => {
  await world.operator.query(`delete from scopes where name = 'lost.read'`)
  await world.operator.query(`insert into resource_servers (client_id, name, audience, normal_audience, secret_hash, created_at)
    values ('a', 'a', 'https://a.example', 'https://a.example', '', now()) on conflict do nothing`)
  await world.operator.query(
    `insert into scopes (name, title, audience, is_discoverable) values ('lost.read', 'x', 'https://a.example', true)`
  )
  await world.announced()
  await world.operator.query(sql)
  expect(await world.announced()).toEqual([{ reset: 'scopes' }])
})
