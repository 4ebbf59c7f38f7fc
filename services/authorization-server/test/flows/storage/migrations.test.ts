import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type Database, MigrationError, migrate, pendingMigrations, StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { createMigratedDatabase, MIGRATIONS, type MigratedDatabase } from '../../support/migrated-database.js'
import { storeGrant } from '../../support/stored-grant.js'
import { bucketsOf, HOUR } from '../../support/token-tables.js'

describe('migrations', () => {
  const OURS = readdirSync(MIGRATIONS).toSorted()

  let testDatabase: TestDatabase
  let database: Database
  let directory: string

  beforeEach(async () => {
    testDatabase = await createTestDatabase()
    database = connectWithoutLimits(testDatabase.url, { connections: 2 })
    directory = mkdtempSync(path.join(tmpdir(), 'valetkey-migrations-'))
  })
  afterEach(async () => {
    rmSync(directory, { recursive: true, force: true })
    await database.close()
    await testDatabase.drop()
  })

  const write = (name: string, sql: string) => writeFileSync(path.join(directory, name), sql)
  const run = () => migrate(testDatabase.url, directory)

  async function tables(): Promise<string[]> {
    const text = "select table_name as name from information_schema.tables where table_schema = 'public' order by 1"
    return (await database.query<{ name: string }>({ name: '', text, values: [] })).map(({ name }) => name)
  }

  describe('the migrations of this release', () => {
    test('are applied in order, once', async () => {
      expect(await pendingMigrations(testDatabase.url, MIGRATIONS)).toEqual(OURS)
      expect(await migrate(testDatabase.url, MIGRATIONS)).toEqual(OURS)
      expect(await migrate(testDatabase.url, MIGRATIONS)).toEqual([])
      expect(await pendingMigrations(testDatabase.url, MIGRATIONS)).toEqual([])
    })

    test('are applied once by five concurrent processes, without errors', async () => {
      const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(testDatabase.url, MIGRATIONS)))
      expect(applied.flat().toSorted()).toEqual(OURS)
      expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
    })
  })

  describe('a failed migration', () => {
    beforeEach(() => {
      write('0001_create_one.sql', 'create table one (id integer)')
      write('0002_create_two.sql', 'create table two (id integer); insert into one values (1); select 1 / 0;')
      write('0003_create_three.sql', 'create table three (id integer)')
    })

    test('is named in the error, leaves no changes, and no later migration is applied', async () => {
      const error: unknown = await run().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(MigrationError)
      expect(String(error)).toMatch(/0002_create_two\.sql: division by zero/)
      expect(await tables()).toEqual(['one', 'schema_migrations'])
      expect(await database.query({ name: '', text: 'select id from one', values: [] })).toEqual([])
      expect(await pendingMigrations(testDatabase.url, directory)).toEqual([
        '0002_create_two.sql',
        '0003_create_three.sql'
      ])
    })

    test('leaves no changes if only its entry in the history cannot be written', async () => {
      const ownEntry = "insert into schema_migrations (name, checksum) values ('0002_create_two.sql', 'another')"
      write('0002_create_two.sql', `create table two (id integer); ${ownEntry}`)
      await expect(run()).rejects.toThrow(/0002_create_two\.sql: duplicate key/)
      expect(await tables()).toEqual(['one', 'schema_migrations'])
    })

    test('is applied after it was corrected, and holds no lock', async () => {
      await run().catch(() => {})
      write('0002_create_two.sql', 'create table two (id integer)')
      expect(await run()).toEqual(['0002_create_two.sql', '0003_create_three.sql'])
      expect(await tables()).toEqual(['one', 'schema_migrations', 'three', 'two'])
    })
  })

  describe('a migration of a table that a long transaction uses', () => {
    let holder: Client
    /** Key of an advisory lock. */
    const GATE = 4711

    beforeEach(async () => {
      write('0001_create_one.sql', 'create table one (id integer)')
      await run()
      write('0002_extend_one.sql', 'alter table one add column name text')
      holder = new Client(testDatabase.url)
      await holder.connect()
      await holder.query('begin; select id from one')
    })
    afterEach(() => holder.end())

    const select = () => database.query({ name: '', text: 'select id from one', values: [] })

    async function untilWaiting(mode: string) {
      const text = 'select 1 from pg_locks where not granted and mode = $1'
      while ((await database.query({ name: '', text, values: [mode] })).length === 0);
    }
    const untilItWaits = () => untilWaiting('AccessExclusiveLock')

    test('stops waiting, so that requests continue, and is applied after that transaction', async () => {
      const migrating = migrate(testDatabase.url, directory, { timeoutMs: 300, attempts: 1_000, pauseMs: 20 })
      await untilItWaits()
      expect(await select()).toEqual([])
      await untilItWaits()
      await holder.query('rollback')
      expect(await migrating).toEqual(['0002_extend_one.sql'])
    })

    test('is tried again after a deadlock', async () => {
      write(
        '0002_extend_one.sql',
        `create table two (id integer); alter table history add id integer; select pg_advisory_xact_lock(${GATE});
         alter table one add id2 integer`
      )
      await database.query({ name: '', text: 'create table history ()', values: [] })
      const gatekeeper = new Client(testDatabase.url)
      await gatekeeper.connect()
      await gatekeeper.query(`select pg_advisory_lock(${GATE})`)
      const migrating = migrate(testDatabase.url, directory, { timeoutMs: 60_000, attempts: 2, pauseMs: 20 })
      await untilWaiting('ExclusiveLock')
      // Postgres ends the session that finds the deadlock. The holder waits first, and never looks for one.
      await holder.query("set local deadlock_timeout = '1h'")
      const waiting = holder.query('select from history')
      await untilWaiting('AccessShareLock')
      await gatekeeper.end()
      await waiting
      await holder.query('rollback')
      expect(await migrating).toEqual(['0002_extend_one.sql'])
      expect(await tables()).toContain('two')
    })

    test('fails after the last attempt with the remedy, and can be run again', async () => {
      const failing = migrate(testDatabase.url, directory, { timeoutMs: 20, attempts: 3, pauseMs: 1 })
      await expect(failing).rejects.toThrow(/0002_extend_one\.sql: .+ after 3 attempts.+ run it again/)
      await expect(failing).rejects.toBeInstanceOf(MigrationError)
      expect(await pendingMigrations(testDatabase.url, directory)).toEqual(['0002_extend_one.sql'])
      await holder.query('rollback')
      expect(await run()).toEqual(['0002_extend_one.sql'])
    })

    test('is not applied twice by two processes: the second waits longer than for a table', async () => {
      const limits = { timeoutMs: 20, attempts: 1_000, pauseMs: 1 }
      const both = Promise.all([1, 2].map(() => migrate(testDatabase.url, directory, limits)))
      for (let attempt = 0; attempt < 3; attempt += 1) await untilItWaits()
      await holder.query('rollback')
      expect((await both).flat()).toEqual(['0002_extend_one.sql'])
    })
  })

  describe('inconsistent migrations', () => {
    beforeEach(async () => {
      write('0001_create_one.sql', 'create table one (id integer)')
      await run()
    })

    test('a changed migration that was applied before is refused, and the next is not applied', async () => {
      write('0001_create_one.sql', 'create table one (id bigint)')
      write('0002_create_two.sql', 'create table two (id integer)')
      await expect(run()).rejects.toThrow(/0001_create_one\.sql: was changed after it had been applied/)
      await expect(pendingMigrations(testDatabase.url, directory)).rejects.toThrow(MigrationError)
      expect(await tables()).not.toContain('two')
    })

    test('an applied migration of a newer release is ignored, so the older release works', async () => {
      write('0002_create_two.sql', 'create table two (id integer)')
      await run()
      rmSync(path.join(directory, '0002_create_two.sql'))
      expect(await run()).toEqual([])
      expect(await tables()).toContain('two')
    })

    test.each(['1_short.sql', '0002-hyphens.sql', '0002_Upper.sql', '0002.sql', 'notes.sql'])(
      'the name %s is refused before any change',
      async (name) => {
        write('0002_create_two.sql', 'create table two (id integer)')
        write(name, 'select 1')
        await expect(run()).rejects.toThrow(name)
        expect(await tables()).not.toContain('two')
      }
    )

    test('files without the extension .sql are ignored', async () => {
      write('README.md', 'not SQL')
      mkdirSync(path.join(directory, 'archive'))
      expect(await run()).toEqual([])
    })
  })
})

describe('service with a role that may not create or drop tables', () => {
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

describe('indexes', () => {
  let opened: MigratedDatabase

  beforeAll(async () => {
    opened = await createMigratedDatabase()
  })
  afterAll(() => opened.close())

  /** Foreign keys whose columns do not begin any index. A partial index without nulls is enough: no null refers to a row. */
  const WITHOUT_INDEX = `select k.conrelid::regclass::text as table, k.conname as key from pg_constraint k
  where k.contype = 'f' and not exists (
    select from pg_index i where i.indrelid = k.conrelid
      and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)
  order by 1, 2`

  test('every foreign key has an index, so that a deletion does not read the whole referring table', async () => {
    expect(await opened.run(WITHOUT_INDEX)).toEqual([])
  })
})
