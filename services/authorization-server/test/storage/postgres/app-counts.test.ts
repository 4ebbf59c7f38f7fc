import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres, type Database } from '@valetkey/service-kit'
import { countApps } from '../../../src/storage/postgres/app-counts.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

const USERS = 30_000

let opened: MigratedDatabase
/** One connection, so that its own statistics can be flushed. */
let database: Database

beforeAll(async () => {
  opened = await createMigratedDatabase()
  database = connectPostgres(opened.url, { connections: 1 })
  await opened.run(`insert into users (user_id, username, created_at)
    select gen_random_uuid(), 'user ' || n, now() from generate_series(1, ${USERS}) n`)
  await opened.run(`insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at)
    select id, id, 'public', '{}', '{files.read}', '{}', true, true, 'ask', now() from unnest('{many,few}'::text[]) id`)
  await insertGrants('many', USERS)
})
afterAll(async () => {
  await database.close()
  await opened.close()
})

/** Two grants of each of the first users. */
async function insertGrants(clientId: string, users: number): Promise<void> {
  await opened.run(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
      client_generation, newest_scope, created_at, redeemed_at, expires_at)
    select gen_random_uuid(), $1, user_id, '{files.read}', 'a', 'r', sha256(($1 || user_id || number)::bytea), 0, 0, 1000, now(), now(),
      now() + interval '1 hour'
    from (select user_id from users order by username limit $2) as first cross join generate_series(1, 2) as number`,
    [clientId, users]
  )
  await opened.run('analyze')
}

async function grantsRead(): Promise<number> {
  await database.query({ name: '', text: 'select pg_stat_force_next_flush()', values: [] })
  const [row] = await opened.run<{ read: number }>(
    "select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_user_tables where relname = 'grants'"
  )
  return row?.read ?? 0
}

test('countUsers: counts each user once', async () => {
  await insertGrants('few', 3)
  expect(await countApps(database).countUsers('few')).toBe(3)
})

test('countUsers: of an app with more users, reads a bounded number of rows', async () => {
  const before = await grantsRead()
  expect(await countApps(database).countUsers('many')).toBeGreaterThanOrEqual(5_000)
  expect((await grantsRead()) - before).toBeLessThanOrEqual(11_000)
})
