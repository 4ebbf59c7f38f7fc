import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import { readConfig } from '../../../src/config.js'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { bucketsOf, HOUR, insertToken } from '../../support/token-tables.js'

const now = new Date()
const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)
const NEXT = expiryBucket(later(HOUR))

let opened: MigratedDatabase
let url: string

beforeAll(async () => {
  opened = await createMigratedDatabase()
  url = opened.url
})
beforeEach(async () => {
  for (const bucket of await bucketsOf(opened)) await opened.run(`drop table access_tokens_${bucket}`)
})
afterAll(() => opened.close())

const make = (first: number, last = first) => opened.run('select make_access_token_buckets($1, $2)', [first, last])
const keep = (at = now, lifetime = 3_600) => createAccessTokenBuckets(atTime(opened.database, at)).keep(lifetime)

test('a bucket is at least as long as the default token lifetime, so that lookups share few tables', () => {
  const required = {
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    DATABASE_URL: 'postgres://d'
  }
  const keys = { REDIS_URL: 'redis://r', COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters' }
  const { accessTokenTtl } = readConfig({ ...required, ...keys })
  const first = expiryBucket(now)
  expect(expiryBucket(later(accessTokenTtl * 1_000)) - first).toBeLessThanOrEqual(1)
})

describe('tables are created ahead', () => {
  test('for tokens issued now, and for three more hours', async () => {
    await keep()
    expect(await bucketsOf(opened)).toEqual([NEXT, NEXT + 1, NEXT + 2, NEXT + 3])
  })

  test('one more after an hour', async () => {
    await keep()
    await keep(later(HOUR))
    expect(await bucketsOf(opened)).toEqual([NEXT, NEXT + 1, NEXT + 2, NEXT + 3, NEXT + 4])
  })

  test('for the expiry of tokens with any lifetime', async () => {
    await keep(now, 30 * 86_400)
    const first = expiryBucket(later(30 * 24 * HOUR))
    expect(await bucketsOf(opened)).toEqual([first, first + 1, first + 2, first + 3])
  })

  test('by concurrent calls of two processes: each table once, without errors', async () => {
    const other = connectWithoutLimits(url, { connections: 5 })
    const processes = [opened.database, other].flatMap((database) =>
      Array.from({ length: 5 }, () => createAccessTokenBuckets(database))
    )
    await Promise.all(processes.map((buckets) => buckets.keep(3_600)))
    await other.close()
    expect(await bucketsOf(opened)).toEqual([NEXT, NEXT + 1, NEXT + 2, NEXT + 3])
  })

  test('only up to a maximum number of hours ahead', async () => {
    await expect(make(NEXT, NEXT + 24)).rejects.toThrow(/1 to 24/)
    await expect(make(-1)).rejects.toThrow(/1970/)
    expect(await bucketsOf(opened)).toEqual([])
  })

  test('not for an hour in which no token issued now can expire', async () => {
    const buckets = createAccessTokenBuckets(opened.database)
    for (const hours of [-9_600, -2, 745, 9_600]) {
      await expect(buckets.writeInto(expiryBucket(later(hours * HOUR)), async () => {})).rejects.toThrow(
        StoreUnavailable
      )
    }
    expect(await bucketsOf(opened)).toEqual([])
    for (const hours of [0, 1, 720]) await buckets.writeInto(expiryBucket(later(hours * HOUR)), async () => {})
    expect(await bucketsOf(opened)).toHaveLength(3)
  })

  test('each accepts only tokens that expire in its hour', async () => {
    await make(NEXT)
    const table = `access_tokens_${NEXT}`
    const [first, last] = [new Date(NEXT * HOUR), new Date((NEXT + 1) * HOUR - 1)]
    for (const inside of [first, last]) await insertToken(opened, table, inside)
    for (const outside of [new Date(first.getTime() - 1), new Date(last.getTime() + 1)]) {
      await expect(insertToken(opened, table, outside)).rejects.toThrow(/check constraint/)
    }
  })
})

describe('tables are dropped', () => {
  // A token that expired so many minutes ago is in a bucket that expired up to an hour later.
  const over = (milliseconds: number) => expiryBucket(later(-milliseconds)) - 1

  test('ten minutes after their hour, with all rows', async () => {
    const bucket = over(11 * 60_000)
    await make(bucket)
    await insertToken(opened, `access_tokens_${bucket}`, new Date(bucket * HOUR))
    await keep()
    expect(await bucketsOf(opened)).not.toContain(bucket)
    expect(await opened.run('select 1 from access_tokens')).toEqual([])
  })

  test('not earlier', async () => {
    const bucket = expiryBucket(now) - 1
    const end = (bucket + 1) * HOUR
    await make(bucket)
    await keep(new Date(end + 599_999))
    expect(await bucketsOf(opened)).toContain(bucket)
  })

  test('by the clock of Postgres, not by a time that a caller passes', async () => {
    await make(NEXT)
    await keep(later(100 * HOUR))
    expect(await bucketsOf(opened)).toContain(NEXT)
  })

  test('all expired tables after a long stop', async () => {
    const oldest = NEXT - 200
    for (const first of [oldest, oldest + 24, oldest + 48]) await make(first, first + 23)
    await keep()
    expect(await bucketsOf(opened)).toEqual([NEXT, NEXT + 1, NEXT + 2, NEXT + 3])
  })

  test('not while a table is being read: without waiting; the next run drops it', async () => {
    const bucket = over(2 * HOUR)
    await make(bucket)
    const reader = new Client({ connectionString: url })
    await reader.connect()
    await reader.query('begin')
    await reader.query(`select 1 from access_tokens_${bucket}`)
    const began = performance.now()
    await keep()
    expect(performance.now() - began).toBeLessThan(1_000)
    expect(await bucketsOf(opened)).toContain(bucket)
    await reader.query('commit')
    await reader.end()
    await keep()
    expect(await bucketsOf(opened)).not.toContain(bucket)
  })

  test('without delaying statements on other tables', async () => {
    const bucket = over(2 * HOUR)
    await keep()
    await make(bucket)
    const dropping = new Client({ connectionString: url })
    await dropping.connect()
    await dropping.query('begin')
    expect((await dropping.query('select drop_access_token_buckets(now()) as dropped')).rows).toEqual([{ dropped: 1 }])
    const locks = await opened.run<{ mode: string }>(
      `select mode from pg_locks where relation in ('access_tokens'::regclass, 'access_tokens_${NEXT}'::regclass)`
    )
    expect(locks.map(({ mode }) => mode).filter((mode) => mode !== 'AccessShareLock')).toEqual([])
    await insertToken(opened, `access_tokens_${NEXT}`, later(HOUR))
    // Another process that drops tables at the same time does not wait either.
    await keep()
    await dropping.query('rollback')
    await dropping.end()
    expect(await bucketsOf(opened)).toContain(bucket)
  })
})
