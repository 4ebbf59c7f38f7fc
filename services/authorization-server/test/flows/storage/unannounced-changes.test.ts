import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { connectPostgres, type Database, migrate } from '@valetkey/service-kit'
import { Client } from 'pg'
import { createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { MIGRATIONS } from '../../support/migrated-database.js'
import { PACE } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

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

/** All that was announced between the call before and this one: Postgres delivers in the order of the commits. */
async function announced(): Promise<unknown[]> {
  await operator.query(`notify valetkey_revocations, '"mark"'`)
  // One's own notification arrives before the answer to the next statement.
  await operator.query('select 1')
  expect(heard.at(-1)).toBe('mark')
  return heard.splice(0).slice(0, -1)
}

describe('changes that end nothing send no notification', () => {
  test('a new grant, its exchange and a refresh', async () => {
    await storeGrant(database, now)
    const rotated = await createRefreshTokenStore(database).rotate(
      {
        hash: grant.refresh.hash,
        successor: { hash: newHash(), expiresAt: now },
        accessToken: { hash: newHash(), scope: ['files.read'], expiresAt: now },
        retry: undefined,
        retryScope: '',
        pace: PACE
      },
      now
    )
    expect(rotated).toBe(true)
    expect(await announced()).toEqual([])
  })

  test('storing and extending a consent, and removing a scope from it', async () => {
    const consents = createConsentStore(database)
    await consents.remember(grant.userId, grant.clientId, ['a'])
    await consents.remember(grant.userId, grant.clientId, ['b'])
    await consents.forgetScope('a')
    expect(await announced()).toEqual([])
  })

  test('storing the last use of a grant, and a new hash of the same password', async () => {
    await createConnectedAppStore(database).noteUse(new Map([[grant.grantId, new Date(now.getTime() + 1)]]))
    await createUserStore(database).replacePasswordHash(grant.userId, { from: 'none', to: 'another' })
    expect(await announced()).toEqual([])
  })

  test('ending an ended row, and an update without changes', async () => {
    const tokens = createAccessTokenStore(database)
    await tokens.revoke(grant.access, grant.clientId)
    expect(await announced()).toHaveLength(1)
    await operator.query('update access_tokens set revoked_at = now() where token_id = $1', [grant.access.tokenId])
    await operator.query('delete from access_tokens where token_id = $1', [grant.access.tokenId])
    await operator.query('update grants set ended_at = ended_at where grant_id = $1', [grant.grantId])
    expect(await announced()).toEqual([])
    await operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    expect(await announced()).toHaveLength(1)
    await operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    await operator.query('delete from grants where grant_id = $1', [grant.grantId])
    expect(await announced()).toEqual([])
  })

  test('deleting expired rows', async () => {
    const old = await storeGrant(database, new Date(now.getTime() - 10_000_000))
    heard = []
    await createExpiredRows(database).deleteSome()
    const left = await operator.query('select 1 from grants where grant_id = $1', [old.grantId])
    expect(left.rowCount).toBe(0)
    expect(await announced()).toEqual([])
  })
})
