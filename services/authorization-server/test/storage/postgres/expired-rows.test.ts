import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@valetkey/dev-stack'
import type { Database } from '@valetkey/service-kit'
import pg from 'pg'
import { createExpiredRows, type ExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { createMigratedDatabase, MIGRATED, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'

let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

describe('expired rows', () => {
  const NOW = new Date('2026-11-21T08:00:00Z')
  const PAST = new Date(NOW.getTime() - 1)
  const FUTURE = new Date(NOW.getTime() + 1)

  let testDatabase: TestDatabase
  let database: Database
  let expiredRows: ExpiredRows

  beforeAll(async () => {
    testDatabase = await createTestDatabase(MIGRATED)
    database = connectWithoutLimits(testDatabase.url, { connections: 4 })
    expiredRows = rowsAt(NOW)
  })
  afterAll(async () => {
    await database.close()
    await testDatabase.drop()
  })
  beforeEach(() => run('truncate grants, refresh_tokens'))

  const rowsAt = (now: Date) => createExpiredRows(atTime(database, now), { auditRetentionDays: 30 })

  const run = <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
    database.query<Row>({ name: '', text, values })

  const TABLES = ['grants', 'refresh_tokens'] as const

  async function insert(table: (typeof TABLES)[number], expiresAt: Date, count = 1): Promise<void> {
    const columns = {
      grants: `grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation, client_generation, newest_scope, created_at, expires_at)
      select gen_random_uuid(), 'c', gen_random_uuid(), '{}', 'a', 'r', sha256(gen_random_uuid()::text::bytea), 0, 0, 0, now(), $1`,
      refresh_tokens: `token_hash, grant_id, user_generation, client_generation, issued_at, expires_at)
      select sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), 0, 0, now(), $1`
    }
    await run(`insert into ${table} (${columns[table]} from generate_series(1, $2)`, [expiresAt, count])
  }

  async function countOf(table: string): Promise<number> {
    const [row] = await run<{ count: number }>(`select count(*)::int as count from ${table}`)
    return row?.count ?? -1
  }

  describe.each(TABLES)('expired rows of %s', (table) => {
    test('are deleted from the moment of their expiry, and no others', async () => {
      await insert(table, PAST)
      await insert(table, NOW)
      await insert(table, FUTURE, 2)
      expect(await expiredRows.deleteSome()).toBe(false)
      expect(await countOf(table)).toBe(2)
      const rest = await run<{ expires_at: Date }>(`select expires_at from ${table}`)
      expect(rest.map(({ expires_at }) => expires_at)).toEqual([FUTURE, FUTURE])
    })

    test('are deleted in batches of 10,000, and the result says if there may be more', async () => {
      await insert(table, PAST, 10_001)
      expect(await expiredRows.deleteSome()).toBe(true)
      expect(await countOf(table)).toBe(1)
      expect(await expiredRows.deleteSome()).toBe(false)
      expect(await countOf(table)).toBe(0)
    })

    test('are deleted by several instances without waiting for each other', async () => {
      await insert(table, PAST, 10)
      const other = new pg.Client({ connectionString: testDatabase.url })
      await other.connect()
      try {
        await other.query('begin')
        await other.query(`select 1 from ${table} limit 4 for update`)
        await expiredRows.deleteSome()
        expect(await countOf(table)).toBe(4)
        await other.query('rollback')
      } finally {
        await other.end()
      }
      await expiredRows.deleteSome()
      expect(await countOf(table)).toBe(0)
    })
  })

  describe('expired grants that were refreshed', () => {
    const extend = (until: Date) => run('update grants set extended_until = $1', [until])

    test('stay until the last refreshed token expires, and are then deleted', async () => {
      await insert('grants', PAST)
      await extend(FUTURE)
      await expiredRows.deleteSome()
      expect(await run('select expires_at from grants')).toEqual([{ expires_at: FUTURE }])
      await rowsAt(FUTURE).deleteSome()
      expect(await countOf('grants')).toBe(0)
    })

    test('are deleted with the others when the refreshed tokens have expired', async () => {
      await insert('grants', PAST)
      await extend(NOW)
      await expiredRows.deleteSome()
      expect(await countOf('grants')).toBe(0)
    })

    test('do not keep other grants from being deleted', async () => {
      await insert('grants', PAST, 10_000)
      await extend(FUTURE)
      await insert('grants', PAST)
      await expiredRows.deleteSome()
      await expiredRows.deleteSome()
      expect(await countOf('grants')).toBe(10_000)
    })
  })

  describe('audit events', () => {
    const DAY = 86_400_000
    const before = (days: number, milliseconds = 0) => new Date(NOW.getTime() - days * DAY - milliseconds)
    const insertEvents = (occurredAt: Date, count = 1) =>
      run(
        `insert into audit_events (occurred_at, event, details) select $1, 'test', '{}' from generate_series(1, $2::int)`,
        [occurredAt, count]
      )
    beforeEach(() => run('truncate audit_events'))

    test('older than the retention are deleted, and no others', async () => {
      for (const time of [before(31), before(30, 1), before(30), before(29), NOW]) await insertEvents(time)
      expect(await expiredRows.deleteSome()).toBe(false)
      const rest = await run<{ occurred_at: Date }>('select occurred_at from audit_events order by 1')
      expect(rest.map(({ occurred_at }) => occurred_at)).toEqual([before(30), before(29), NOW])
    })

    test('are deleted in batches of 1,000, and the result says if there may be more', async () => {
      await insertEvents(before(40), 1_001)
      expect(await expiredRows.deleteSome()).toBe(true)
      expect(await countOf('audit_events')).toBe(1)
      expect(await expiredRows.deleteSome()).toBe(false)
      expect(await countOf('audit_events')).toBe(0)
    })

    test('are all kept if the retention is 0 days', async () => {
      await insertEvents(before(4_000))
      await createExpiredRows(atTime(database, NOW), { auditRetentionDays: 0 }).deleteSome()
      expect(await countOf('audit_events')).toBe(1)
    })
  })

  describe('stored refresh responses', () => {
    async function insertAnswer(retryUntil: Date | undefined, expiresAt = FUTURE): Promise<Buffer> {
      const hash = randomBytes(32)
      await run(
        `insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at,
         rotated_at, retry_until, retry_scope, retry_response) values ($1, $2, 0, 0, now(), $3, now(), $4, 's', '\\x01')`,
        [hash, randomUUID(), expiresAt, retryUntil]
      )
      return hash
    }

    const resultOf = async (hash: Buffer) => {
      const text = 'select retry_response, retry_until, retry_scope from refresh_tokens where token_hash = $1'
      return (await run<{ retry_response: Buffer | null; retry_until: Date; retry_scope: string }>(text, [hash]))[0]
    }

    test('are erased in batches of 1,000, and the result says if there may be more', async () => {
      await run(
        `insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at,
          rotated_at, retry_until, retry_scope, retry_response)
        select sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), 0, 0, now(), $1, now(), $2, 's', '\\x01'
        from generate_series(1, 1001)`,
        [FUTURE, PAST]
      )
      expect(await expiredRows.eraseSomeRetryResponses()).toBe(true)
      expect(await expiredRows.eraseSomeRetryResponses()).toBe(false)
      expect(await countOf('refresh_tokens where retry_response is not null')).toBe(0)
    })

    test('stay with their expired token until the retry window ends', async () => {
      await insertAnswer(FUTURE, PAST)
      const closed = await insertAnswer(PAST, PAST)
      await expiredRows.deleteSome()
      expect([await countOf('refresh_tokens'), await resultOf(closed)]).toEqual([1, undefined])
      await rowsAt(FUTURE).deleteSome()
      expect(await countOf('refresh_tokens')).toBe(0)
    })

    test('are erased when the retry window ends, without other changes to the row', async () => {
      const [closed, closing, open] = [await insertAnswer(PAST), await insertAnswer(NOW), await insertAnswer(FUTURE)]
      await expiredRows.eraseSomeRetryResponses()
      for (const hash of [closed, closing]) expect((await resultOf(hash))?.retry_response).toBeNull()
      expect((await resultOf(open))?.retry_response).toEqual(Buffer.from([1]))
      expect(await resultOf(closed)).toMatchObject({ retry_until: PAST, retry_scope: 's' })
    })

    test('a rotated token stays until it would have expired, to detect its reuse (RFC 9700 §4.14.2)', async () => {
      const [kept, gone] = [await insertAnswer(PAST, FUTURE), await insertAnswer(PAST, PAST)]
      await expiredRows.deleteSome()
      expect(await resultOf(kept)).toBeDefined()
      expect(await resultOf(gone)).toBeUndefined()
    })
  })
})

describe('discovered clients', () => {
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
})

describe('logos', () => {
  const hashOf = (digit: string) => digit.repeat(64)

  async function insertLogo(digit: string, age: string) {
    const text = "insert into client_logos values ($1, 'image', now() - $2::interval)"
    await opened.run(text, [hashOf(digit), age])
  }

  async function insertClient(clientId: string, logo: string | null) {
    await opened.run(
      `insert into clients (client_id, name, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
      issues_refresh_tokens, consent, created_at, logo)
    values ($1, 'x', 'public', '{}', '{}', '{}', true, true, 'ask', now(), $2)`,
      [clientId, logo]
    )
  }

  test('deletes logos that are a day old and that no client and no pending change of an app has', async () => {
    await insertLogo('a', '25 hours')
    await insertLogo('b', '23 hours')
    await insertLogo('c', '25 hours')
    await insertLogo('d', '25 hours')
    await insertClient('shown', hashOf('c'))
    await insertClient('app', null)
    const pending = JSON.stringify({ branding: { logo: hashOf('d') } })
    await opened.run('insert into developer_apps (client_id, position, pending) values ($1, 1, $2)', ['app', pending])
    expect(await createExpiredRows(opened.database).deleteSome()).toBe(false)
    const left = await opened.run<{ hash: string }>('select hash from client_logos order by hash')
    expect(left.map(({ hash }) => hash)).toEqual([hashOf('b'), hashOf('c'), hashOf('d')])
  })

  test('Postgres refuses to delete the logo of a client, and a client with an unknown logo', async () => {
    await expect(opened.run('delete from client_logos where hash = $1', [hashOf('c')])).rejects.toThrow(/foreign key/)
    await expect(insertClient('other', hashOf('e'))).rejects.toThrow(/foreign key/)
  })
})
