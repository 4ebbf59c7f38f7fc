import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import {
  connectPostgres,
  type Database,
  examinePostgres,
  migrate,
  OWN_SETTINGS,
  openNotificationChannel,
  problemOf
} from '@valetkey/service-kit'
import { Client } from 'pg'

/** Why a value of a role or database does no harm. */
const HARMLESS: Readonly<Record<string, string>> = {
  check_function_bodies: 'for `create function` only',
  client_encoding: 'the driver asks for UTF8, which is checked',
  client_min_messages: 'errors are always sent, and notices are ignored',
  createrole_self_grant: 'for `create role` only',
  default_table_access_method: 'for `create table` only',
  default_tablespace: 'for `create table` only',
  default_text_search_config: 'no text search',
  default_toast_compression: 'storage only',
  default_transaction_read_only: 'readiness refuses a database that takes no writes',
  dynamic_library_path: 'for `create function` only',
  escape_string_warning: 'a notice only',
  event_triggers: 'there are none',
  extension_control_path: 'for `create extension` only',
  gin_fuzzy_search_limit: 'no GIN index',
  gin_pending_list_limit: 'no GIN index',
  icu_validation_level: 'for `create database` only',
  idle_in_transaction_session_timeout: 'transactions wait for nothing',
  lc_messages: 'no text of a message decides',
  lc_monetary: 'no amounts of money',
  lc_numeric: 'no number is formatted with a locale',
  lc_time: 'no time is formatted with a locale',
  lo_compat_privileges: 'no large objects',
  restrict_nonsystem_relation_kind: 'no views and no foreign tables',
  search_path: 'may name another schema; readiness examines the tables',
  session_replication_role: 'checked',
  statement_timeout: 'set for each connection, and named by doctor behind a pooler',
  synchronize_seqscans: 'every list has an order',
  temp_tablespaces: 'place of temporary files only',
  timezone_abbreviations: 'for text with an abbreviation only, which no statement has',
  transaction_deferrable: 'of the current transaction only',
  transaction_isolation: 'of the current transaction only',
  transaction_read_only: 'of the current transaction only',
  xmlbinary: 'no XML'
}

let testDatabase: TestDatabase
let owner: Client
let role: string
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  owner = new Client({ connectionString: testDatabase.url })
  await owner.connect()
  role = `service_${new URL(testDatabase.url).pathname.slice(1)}`
  await owner.query(`create role ${role} login password 'secret'`)
})
afterAll(async () => {
  await owner.query(`drop role ${role}`)
  await owner.end()
  await testDatabase.drop()
})

async function connected(url: URL, use: (database: Database) => Promise<void>): Promise<void> {
  const database = connectPostgres(url.href, { connections: 1 })
  await use(database).finally(() => database.close())
}

const ask = (database: Database) => database.query({ name: 'one', text: 'select 1 as one', values: [] })

describe('settings that a database or a role has', () => {
  const HOSTILE = {
    datestyle: 'SQL, DMY',
    intervalstyle: 'sql_standard',
    timezone: 'Asia/Kolkata',
    bytea_output: 'escape',
    extra_float_digits: '-15',
    standard_conforming_strings: 'off',
    array_nulls: 'off',
    quote_all_identifiers: 'on',
    exit_on_error: 'on',
    default_transaction_isolation: 'serializable',
    lock_timeout: '1ms',
    idle_session_timeout: '50ms'
  }
  const nameOf = (url: string) => new URL(url).pathname.slice(1)

  /** Sets them for the database until the test has ended. */
  async function withSettings(settings: Record<string, string>, work: () => Promise<void>): Promise<void> {
    const name = nameOf(testDatabase.url)
    for (const [setting, value] of Object.entries(settings)) {
      await owner.query(`alter database ${name} set ${setting} = '${value}'`)
    }
    await work().finally(() => owner.query(`alter database ${name} reset all`))
  }

  async function problemAt(url: string, pooled: boolean): Promise<unknown> {
    const database = connectPostgres(url, { connections: 1, pooled })
    const failure = await ask(database).catch((error: unknown) => error)
    await database.close()
    return problemOf(failure)
  }

  const examine = async (url: string, direct?: string) => {
    const migrations = path.resolve(import.meta.dirname, '../../../migrations')
    const options = { migrations, isProduction: false, listens: false, plans: 'kept' as const }
    return await examinePostgres(url, { ...options, direct: { setting: 'DATABASE_DIRECT_URL', url: direct } })
  }

  test('change neither text nor behaviour, because each connection sets its own', async () => {
    await withSettings(HOSTILE, () =>
      connected(new URL(testDatabase.url), async (database) => {
        const text = `select '2026-03-04 05:06:07+00'::timestamptz as at, '2026-03-04 05:06:07+00'::timestamptz::text as text,
          $1::bytea as bytes, 1234567890.123456::float8 as number, 'a\\b' as escaped, $2::text[] as list,
          'pg_class'::regclass::text as name, current_setting('transaction_isolation') as isolation`
        const values = [Buffer.from('a\\b'), ['NULL', null]]
        expect(await database.query({ name: '', text, values })).toEqual([
          {
            at: new Date('2026-03-04T05:06:07Z'),
            text: '2026-03-04 05:06:07+00',
            bytes: Buffer.from('a\\b'),
            number: 1_234_567_890.123456,
            escaped: 'a\\b',
            list: ['NULL', null],
            name: 'pg_class',
            isolation: 'read committed'
          }
        ])
        const pid = () => database.query({ name: '', text: 'select pg_backend_pid() as pid', values: [] })
        const before = await pid()
        await owner.query('select pg_sleep(0.2)')
        expect(await pid()).toEqual(before)
      })
    )
  })

  test('do not end an idle connection that listens', async () => {
    await withSettings(HOSTILE, async () => {
      const received: string[] = []
      const lost: Error[] = []
      const url = testDatabase.url
      const channel = await openNotificationChannel(
        url,
        ['one'],
        (text) => received.push(text),
        (e) => lost.push(e)
      )
      await owner.query('select pg_sleep(0.2)')
      await channel.notify('here')
      await channel.close()
      expect([received, lost]).toEqual([['here'], []])
    })
  })

  test.each(
    Object.entries(HOSTILE).filter(([name]) => !/^(intervalstyle|timezone|lock_timeout|idle_session)/.test(name))
  )('%s = %s is refused and named where no process may set it, as behind a pooler', async (name, value) => {
    await withSettings({ [name]: value }, async () => {
      expect(await problemAt(testDatabase.url, true)).toEqual({
        reason: `has a value of ${name} with which statements fail`,
        remedy: expect.stringContaining(`reset ${name}`),
        isSetting: true
      })
      const findings = await examine(testDatabase.url, testDatabase.url)
      expect(findings).toContainEqual(
        expect.objectContaining({ check: 'postgres settings', severity: 'fatal', what: `${name} is ${value}` })
      )
      expect(await examine(testDatabase.url)).toContainEqual(
        expect.objectContaining({ check: 'postgres settings', severity: 'ok' })
      )
    })
  })

  test('that switch triggers off are refused, also without a pooler', async () => {
    await withSettings({ session_replication_role: 'replica' }, async () => {
      const reason = 'has a value of session_replication_role with which statements fail'
      expect(await problemAt(testDatabase.url, false)).toMatchObject({ reason })
    })
  })

  test('a database in LATIN1 is refused by name, by the service, migrate and doctor', async () => {
    const name = `latin_${nameOf(testDatabase.url)}`
    await owner.query(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`)
    const url = Object.assign(new URL(testDatabase.url), { pathname: `/${name}` }).href
    try {
      expect(await problemAt(url, false)).toMatchObject({
        reason: 'has a database whose encoding is not UTF8',
        remedy: expect.stringContaining('encoding UTF8')
      })
      await expect(migrate(url, import.meta.dirname)).rejects.toThrow(/server_encoding: LATIN1.*encoding UTF8/)
      expect(await examine(url)).toContainEqual(
        expect.objectContaining({ severity: 'fatal', what: 'server_encoding is LATIN1' })
      )
    } finally {
      await owner.query(`drop database ${name} with (force)`)
    }
  })

  test('a role without rights on the schema is refused by name', async () => {
    const url = new URL(testDatabase.url)
    url.username = role
    url.password = 'secret'
    await owner.query('revoke usage on schema public from public')
    try {
      expect(await problemAt(url.href, false)).toMatchObject({
        reason: 'allows the role no schema of its search_path',
        remedy: expect.stringContaining('grant usage on the schema')
      })
      expect(await examine(url.href)).toContainEqual(
        expect.objectContaining({ severity: 'fatal', what: 'the role may use no schema' })
      )
    } finally {
      await owner.query('grant usage on schema public to public')
    }
  })

  test('every setting of text, statements and compatibility that a role may have is decided', async () => {
    const { rows } = await owner.query<{ name: string }>(`
      select lower(name) as name from pg_settings
      where context in ('user', 'superuser') and (category like 'Client Connection Defaults / Statement Behavior'
        or category like 'Client Connection Defaults / Locale and Formatting'
        or category like 'Version and Platform Compatibility%' or category = 'Error Handling'
        or category = 'Client Connection Defaults / Other Defaults')
      order by 1`)
    const undecided = rows.map(({ name }) => name).filter((name) => !(name in OWN_SETTINGS) && !(name in HARMLESS))
    expect(undecided).toEqual([])
  })
})
