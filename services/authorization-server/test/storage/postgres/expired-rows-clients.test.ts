import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())
beforeEach(() => opened.run('truncate clients, grants cascade'))

async function insertClient(
  clientId: string,
  change: { origin?: string; age?: string; allowed?: string; disabled?: boolean } = {}
) {
  const { origin = 'discovered', age = '25 hours', allowed = age, disabled = false } = change
  await opened.run(
    `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, origin, created_at, last_allowed_at, disabled_at)
    values ($1, 'x', 'public', '{}', '{}', '{}', true, true, 'ask', $2, now() - $3::interval, now() - $4::interval,
      case when $5 then now() end)`,
    [clientId, origin, age, allowed, disabled]
  )
}

async function insertGrant(clientId: string) {
  await opened.run(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
      client_generation, newest_scope, created_at, expires_at)
    values (gen_random_uuid(), $1, gen_random_uuid(), '{}', 'a', 'r', $2, 0, 0, 0, now(), now() + interval '1 hour')`,
    [clientId, randomBytes(32)]
  )
}

test('deletes discovered clients that no user has allowed for a day and that have no grants, and no other clients', async () => {
  await insertClient('unused')
  await insertClient('new', { age: '23 hours' })
  await insertClient('allowed again', { age: '9 days', allowed: '23 hours' })
  await insertClient('disabled', { disabled: true })
  await insertClient('registered', { origin: 'registered' })
  await insertClient('used')
  await insertGrant('used')
  expect(await createExpiredRows(opened.database).deleteSome()).toBe(false)
  const left = await opened.run<{ client_id: string }>('select client_id from clients order by client_id')
  expect(left.map((row) => row.client_id)).toEqual(['allowed again', 'disabled', 'new', 'registered', 'used'])
})

test('says that more rows are likely after 1,000 deletions', async () => {
  for (let count = 0; count < 1_001; count++) await insertClient(`unused-${count}`)
  const expiredRows = createExpiredRows(opened.database)
  expect([await expiredRows.deleteSome(), await expiredRows.deleteSome()]).toEqual([true, false])
  expect(await opened.run('select client_id from clients')).toEqual([])
})
