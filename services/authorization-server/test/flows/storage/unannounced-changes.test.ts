import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { type ObservedDatabase, openObservedDatabase } from '../../support/received-endings.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { PACE } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

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

describe('changes that end nothing send no notification', () => {
  test('a new grant, its exchange and a refresh', async () => {
    await storeGrant(world.database, now)
    const rotated = await createRefreshTokenStore(world.database).rotate(
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
    expect(await world.announced()).toEqual([])
  })

  test('a new name of a client, and a scope that becomes optional', async () => {
    const text = `update clients set name = 'x', required_scopes = '{files.read:images}', optional_scopes = '{files.read}'
      where client_id = $1`
    await world.operator.query(text, [grant.clientId])
    expect(await world.announced()).toEqual([])
  })

  test('a new scope, and new texts of a scope', async () => {
    await world.operator.query(`insert into scopes (name, title) values ('new.read', 'x')`)
    await world.operator.query(`update scopes set title = 'y', is_default = true where name = 'new.read'`)
    expect(await world.announced()).toEqual([])
  })

  test('storing and extending a consent', async () => {
    const consent = { userId: grant.userId, clientId: grant.clientId, audience: 'https://files.example' }
    await rememberConsent(world.database, consent, ['a'])
    await rememberConsent(world.database, consent, ['b'])
    expect(await world.announced()).toEqual([])
  })

  test('storing the last use of a grant, and a new hash of the same password', async () => {
    await createConnectedAppStore(world.database).noteUse(new Map([[grant.grantId, new Date(now.getTime() + 1)]]))
    await createUserStore(world.database).replacePasswordHash(grant.userId, { from: 'none', to: 'another' })
    expect(await world.announced()).toEqual([])
  })

  test('ending an ended row, and an update without changes', async () => {
    const tokens = createAccessTokenStore(world.database)
    await tokens.revoke(grant.access, grant.clientId)
    expect(await world.announced()).toHaveLength(1)
    await world.operator.query('update access_tokens set revoked_at = now() where token_id = $1', [
      grant.access.tokenId
    ])
    await world.operator.query('delete from access_tokens where token_id = $1', [grant.access.tokenId])
    await world.operator.query('update grants set ended_at = ended_at where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toEqual([])
    await world.operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toHaveLength(1)
    await world.operator.query('update grants set ended_at = now() where grant_id = $1', [grant.grantId])
    await world.operator.query('delete from grants where grant_id = $1', [grant.grantId])
    expect(await world.announced()).toEqual([])
  })

  test('deleting expired rows', async () => {
    const old = await storeGrant(world.database, new Date(now.getTime() - 10_000_000))
    await world.announced()
    await createExpiredRows(world.database).deleteSome()
    const left = await world.operator.query('select 1 from grants where grant_id = $1', [old.grantId])
    expect(left.rowCount).toBe(0)
    expect(await world.announced()).toEqual([])
  })
})
