import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type Database, migrate, StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { MIGRATIONS } from '../../support/migrated-database.js'
import { storeGrant } from '../../support/stored-grant.js'
import { bucketsOf, HOUR } from '../../support/token-tables.js'

const now = new Date()

let testDatabase: TestDatabase
let owner: Client
let database: Database
const names = { service: '', stranger: '' }

const connectAs = (role: string) => {
  const url = new URL(testDatabase.url)
  url.username = role
  url.password = 'secret'
  return connectWithoutLimits(url.href, { connections: 3 })
}

/** Two roles that can change no table. Default privileges give the service's its rights as the migrations make the tables. */
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  owner = new Client({ connectionString: testDatabase.url })
  await owner.connect()
  for (const kind of ['service', 'stranger'] as const) {
    names[kind] = `${kind}_${new URL(testDatabase.url).pathname.slice(1)}`
    await owner.query(`create role ${names[kind]} login password 'secret'`)
  }
  await owner.query('revoke create on schema public from public')
  const byDefault = 'alter default privileges in schema public grant'
  await owner.query(`${byDefault} select, insert, update, delete on tables to ${names.service}`)
  await owner.query(`${byDefault} select on tables to ${names.stranger}`)
  await migrate(testDatabase.url, MIGRATIONS)
  database = connectAs(names.service)
})
afterAll(async () => {
  await database.close()
  for (const role of Object.values(names)) {
    await owner.query(`drop owned by ${role}`)
    await owner.query(`drop role ${role}`)
  }
  await owner.end()
  await testDatabase.drop()
})

describe('service with a role that may not create or drop tables', () => {
  const run = <Row extends Record<string, unknown>>(text: string) => database.query<Row>({ name: '', text, values: [] })

  test('the role cannot create a table', async () => {
    await expect(run('create table another (id integer)')).rejects.toThrow(/permission denied/)
    await expect(run('drop table access_tokens')).rejects.toThrow(/must be owner/)
  })

  test('tables are created ahead and dropped, and tokens issued, found and deleted', async () => {
    const over = Math.floor(now.getTime() / HOUR) - 3
    await run(`select make_access_token_buckets(${over}, ${over})`)
    await createAccessTokenBuckets(database).keep(3_600)
    expect(await bucketsOf({ run })).not.toContain(over)
    expect(await bucketsOf({ run })).toHaveLength(4)
    const grant = await storeGrant(database, now)
    expect((await findLiveAccessToken(database, grant.access.hash, now))?.grantId).toBe(grant.grantId)
    await run(`delete from access_tokens_${grant.access.bucket}`)
  })

  test('a read-only role creates and drops no tables, and gets no more permissions', async () => {
    const stranger = connectAs(names.stranger)
    for (const text of ['select make_access_token_buckets(1, 1)', 'select drop_access_token_buckets(now())']) {
      await expect(stranger.query({ name: '', text, values: [] })).rejects.toThrow(/permission denied/)
    }
    const [bucket] = await bucketsOf({ run })
    await stranger.query({ name: '', text: `select 1 from access_tokens_${bucket}`, values: [] })
    const text = `delete from access_tokens_${bucket}`
    await expect(stranger.query({ name: '', text, values: [] })).rejects.toThrow(/permission denied/)
    await stranger.close()
  })

  test('without permission for the functions, issuing is an outage until it is granted', async () => {
    const functions = 'function make_access_token_buckets(integer, integer)'
    await owner.query(`revoke execute on ${functions} from ${names.service}`)
    const late = new Date(now.getTime() + 100 * HOUR)
    await expect(storeGrant(database, late)).rejects.toThrow(StoreUnavailable)
    await owner.query(`grant execute on ${functions} to ${names.service}`)
    const grant = await storeGrant(database, late)
    expect((await findLiveAccessToken(database, grant.access.hash, late))?.grantId).toBe(grant.grantId)
  })

  test('a role named after the migrations gets the permissions in docs/databases.md', async () => {
    const stranger = connectAs(names.stranger)
    await owner.query(`grant select, insert, update, delete on all tables in schema public to ${names.stranger}`)
    await owner.query(`grant execute on function make_access_token_buckets(integer, integer),
      drop_access_token_buckets(timestamptz) to ${names.stranger}`)
    await storeGrant(stranger, new Date(now.getTime() + 200 * HOUR))
    await stranger.close()
  })

  test('objects in the role’s own schema are not used', async () => {
    const session = new Client({ connectionString: testDatabase.url })
    await session.connect()
    await session.query(`set role ${names.service}`)
    await session.query(
      'create temp table access_tokens (token_hash bytea, expires_at timestamptz, revoked_at timestamptz)'
    )
    await session.query('select make_access_token_buckets(700000, 700000)')
    const parents = await session.query(
      "select inhparent::regclass::text as parent from pg_inherits where inhrelid = 'access_tokens_700000'::regclass"
    )
    expect(parents.rows).toEqual([{ parent: 'public.access_tokens' }])
    await session.end()
  })

  test('functions created by the role do not run with the permissions of the owner', async () => {
    await owner.query(`grant create on schema public to ${names.service}`)
    const imposters = ['to_timestamp(numeric)', 'quote_ident(name)', 'hashtextextended(text, integer)']
    for (const signature of imposters) {
      const returns = signature.startsWith('to_') ? 'timestamptz' : signature.startsWith('quote') ? 'text' : 'bigint'
      await run(`create function public.${signature} returns ${returns} language plpgsql as $$
        begin raise exception 'run as %', current_user; end $$`)
    }
    await run('select make_access_token_buckets(700001, 700001)')
    await run('select drop_access_token_buckets(now())')
    for (const signature of imposters) await run(`drop function public.${signature}`)
    await owner.query(`revoke create on schema public from ${names.service}`)
  })
})
