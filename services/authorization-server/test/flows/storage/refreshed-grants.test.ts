import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let opened: MigratedDatabase
let grant: StoredGrant
const now = new Date()
const after = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
beforeEach(async () => {
  grant = await storeGrant(opened.database, now)
  await opened.run('update grants set expires_at = $1 where grant_id = $2', [after(-10), grant.grantId])
})
afterAll(() => opened.close())

/** A refreshed grant whose first tokens have expired. */
const extend = (until: Date) =>
  opened.run('update grants set extended_until = $1 where grant_id = $2', [until, grant.grantId])

const listed = async () => [
  (await createConnectedAppStore(opened.database).list(grant.userId)).map(({ clientId }) => clientId),
  (await createGrantedAccessStore(opened.database).list({ userId: grant.userId }, { limit: 10 })).map(
    ({ grantId, expiresAt }) => ({ grantId, expiresAt })
  )
]

test('a grant with expired first tokens is listed while refreshed tokens are valid', async () => {
  await extend(after(1_000))
  expect(await listed()).toEqual([[grant.clientId], [{ grantId: grant.grantId, expiresAt: after(1_000) }]])
  const apps = createConnectedAppStore(opened.database)
  expect(await apps.end(grant.userId, grant.clientId)).toEqual({ grantIds: [grant.grantId] })
})

test('an operator can end it', async () => {
  await extend(after(1_000))
  const granted = createGrantedAccessStore(opened.database)
  expect(await granted.endOfUser({ userId: grant.userId, clientId: undefined }, NOTE)).toBe(1)
})

test('it is not listed after the refreshed tokens expire', async () => {
  await extend(after(-1))
  expect(await listed()).toEqual([[], []])
})
