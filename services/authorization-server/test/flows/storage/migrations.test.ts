import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import { type Database, MigrationError, migrate, pendingMigrations } from '@valetkey/service-kit'
import { Client } from 'pg'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { MIGRATIONS } from '../../support/migrated-database.js'

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

  async function untilItWaits() {
    const text = "select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'"
    while ((await database.query({ name: '', text, values: [] })).length === 0);
  }

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
      'create table two (id integer); alter table history add id integer; alter table one add id2 integer'
    )
    await database.query({ name: '', text: 'create table history ()', values: [] })
    const migrating = migrate(testDatabase.url, directory, { timeoutMs: 60_000, attempts: 2, pauseMs: 20 })
    await untilItWaits()
    // Waits for the migration, which waits for the holder.
    await holder.query('select from history')
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
