import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, type Database, migrate } from '@valetkey/service-kit'
import { Client } from 'pg'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { MIGRATIONS } from '../../support/migrated-database.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let testDatabase: TestDatabase
let database: Database
let operator: Client
let heard: unknown[]
let grant: StoredGrant
const now = new Date()

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  await migrate(testDatabase.url, MIGRATIONS)
  database = connectPostgres(testDatabase.url, { connections: 5 })
  operator = new Client({ connectionString: testDatabase.url })
  await operator.connect()
  await operator.query('listen valetkey_revocations')
  operator.on('notification', ({ payload }) => heard.push(JSON.parse(payload ?? '')))
})
beforeEach(async () => {
  grant = await storeGrant(database, now)
  heard = []
})
afterAll(async () => {
  await operator.end()
  await database.close()
  await testDatabase.drop()
})

/** As announced with the audience of the grant. */
const ended = (data: object) => ({ ...data, audience: 'https://files.example' })

/** All that was announced between the call before and this one: Postgres delivers in the order of the commits. */
async function announced(): Promise<unknown[]> {
  await operator.query(`notify valetkey_revocations, '"mark"'`)
  // One's own notification arrives before the answer to the next statement.
  await operator.query('select 1')
  expect(heard.at(-1)).toBe('mark')
  return heard.splice(0).slice(0, -1)
}

test('deleting a grant with expired first tokens and active refreshed tokens sends a notification', async () => {
  await operator.query(
    `update grants set expires_at = now() - interval '1 hour', extended_until = now() + interval '1 hour'
      where grant_id = $1`,
    [grant.grantId]
  )
  await operator.query('delete from grants where grant_id = $1', [grant.grantId])
  expect(await announced()).toEqual([ended({ grant_id: grant.grantId })])
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
      sql: `insert into consents (user_id, client_id, scope, granted_at, generation)
        select user_id, client_id, '{}', now(), 1 from grants where grant_id = $1`,
      by: () => grant.grantId,
      data: () => ({ sub: grant.userId })
    }
  ])('$name', async ({ sql, by, data }) => {
    await operator.query(sql, [by()])
    expect(await announced()).toEqual([data()])
  })

  test('without an audience, if the grant was deleted or its audience is too long for a notification', async () => {
    await operator.query('delete from grants where grant_id = $1', [grant.grantId])
    await operator.query('update access_tokens set revoked_at = now() where token_id = $1', [grant.access.tokenId])
    const other = await storeGrant(database, now)
    await operator.query("update grants set audience = repeat('\"', 8000) where grant_id = $1", [other.grantId])
    await operator.query('update grants set ended_at = now() where grant_id = $1', [other.grantId])
    const bare = [{ jti: grant.access.tokenId }, { grant_id: other.grantId }]
    expect(await announced()).toEqual([ended({ grant_id: grant.grantId }), ...bare])
  })

  test('with every search path of the statement', async () => {
    await operator.query('set search_path = pg_catalog')
    await operator.query('update public.access_tokens set revoked_at = now() where token_id = $1', [
      grant.access.tokenId
    ])
    await operator.query('reset search_path')
    expect(await announced()).toEqual([ended({ jti: grant.access.tokenId })])
  })

  test.each(['users cascade', 'clients cascade', 'grants', 'refresh_tokens', 'access_tokens'])(
    'truncate %s: one notification',
    async (what) => {
      await operator.query(`truncate ${what}`)
      expect(await announced()).toEqual([{ reset: what.split(' ')[0] }])
    }
  )

  test('a second end of an authorization sends a notification', async () => {
    await createConsentStore(database).remember(grant.userId, grant.clientId, ['a'])
    for (let time = 0; time < 2; time++) {
      await operator.query('update consents set generation = generation + 1 where user_id = $1', [grant.userId])
      expect(await announced()).toEqual([{ sub: grant.userId }])
    }
  })

  test('a user ends the access of a client, first and second time', async () => {
    const apps = createConnectedAppStore(database)
    for (let time = 0; time < 2; time += 1) {
      await apps.end(grant.userId, grant.clientId)
      expect(await announced()).toEqual([{ sub: grant.userId }])
    }
  })

  test('no notification before the commit', async () => {
    const other = new Client({ connectionString: testDatabase.url })
    await other.connect()
    await other.query('begin')
    await other.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    expect(await announced()).toEqual([])
    await other.query('commit')
    await other.end()
    expect(await announced()).toEqual([ended({ grant_id: grant.grantId })])
  })

  test('no notification after a rollback', async () => {
    await operator.query('begin')
    await operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    await operator.query('delete from users where user_id = $1', [grant.userId])
    await operator.query('rollback')
    expect(await announced()).toEqual([])
  })
})
