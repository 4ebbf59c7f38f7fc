import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket, type TokenHash } from '@valetkey/oauth-protocol'
import { type Database, type Statement, StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import { readConfig } from '../../../src/config.js'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { type AccessTokenStore, createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createIntrospectionStore } from '../../../src/storage/postgres/introspections.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'
import { bucketsOf, HOUR, insertToken } from '../../support/token-tables.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

describe('access tokens', () => {
  const after = (milliseconds: number) => new Date(NOW.getTime() + milliseconds)
  let database: Database
  let store: AccessTokenStore
  let grant: StoredGrant

  beforeAll(async () => {
    database = opened.database
    store = createAccessTokenStore(atTime(database, NOW))
  })
  beforeEach(async () => {
    grant = await storeGrant(database, NOW)
  })

  const change = (name: string, text: string, id: string) =>
    database.query({ name: `test_${name}`, text, values: [id] })

  describe('introspection lookup of an access token', () => {
    test('an active token: all fields', async () => {
      expect(await findLiveAccessToken(database, grant.access.hash, NOW)).toEqual({
        tokenId: grant.access.tokenId,
        grantId: grant.grantId,
        clientId: grant.clientId,
        userId: grant.userId,
        scope: ['files.read', 'files.read:images'],
        audience: 'https://files.example',
        issuedAt: NOW,
        expiresAt: grant.access.expiresAt,
        lastUseIsOld: false
      })
    })

    test.each([
      { name: 'one millisecond before its expiry: active', at: 99_999, active: true },
      { name: 'at its expiry: inactive', at: 100_000, active: false },
      { name: 'after its expiry: inactive', at: 100_001, active: false }
    ])('$name', async ({ at, active }) => {
      expect((await findLiveAccessToken(database, grant.access.hash, after(at))) !== undefined).toBe(active)
    })

    test.each<{ name: string; hash(): TokenHash }>([
      { name: 'an unknown token', hash: newHash },
      { name: 'a refresh token', hash: () => grant.refresh.hash }
    ])('$name: not found', async ({ hash }) => {
      expect(await findLiveAccessToken(database, hash(), NOW)).toBeUndefined()
    })

    test.each<{ name: string; ending(): Promise<unknown> }>([
      { name: 'a revoked token', ending: () => store.revoke(grant.access, grant.clientId) },
      { name: 'a token of an ended grant', ending: () => createGrantStore(database).end(grant.grantId) },
      {
        name: 'a token with a generation older than that of its user',
        ending: () => change('user', 'update users set generation = 1 where user_id = $1', grant.userId)
      },
      {
        name: 'a token with a generation newer than that of its user',
        ending: () => change('older', 'update users set generation = -1 where user_id = $1', grant.userId)
      },
      {
        name: 'a token with a generation older than that of its client',
        ending: () => change('client', 'update clients set generation = 1 where client_id = $1', grant.clientId)
      },
      {
        name: 'a token of a deleted user',
        ending: () => change('no_user', 'delete from users where user_id = $1', grant.userId)
      },
      {
        name: 'a token of a deleted client',
        ending: () => change('no_client', 'delete from clients where client_id = $1', grant.clientId)
      },
      {
        name: 'a token whose grant was deleted',
        ending: () => change('no_grant', 'delete from grants where grant_id = $1', grant.grantId)
      }
    ])('$name: not found', async ({ ending }) => {
      await ending()
      expect(await findLiveAccessToken(database, grant.access.hash, NOW)).toBeUndefined()
    })
  })

  describe('access token store: revoke', () => {
    const active = async ({ access }: StoredGrant) =>
      (await findLiveAccessToken(database, access.hash, NOW)) !== undefined

    test('ends only this token and returns its ids', async () => {
      const sibling = await storeGrant(database, NOW, grant)
      expect(await store.revoke(grant.access, grant.clientId)).toEqual({
        tokenId: grant.access.tokenId,
        grantId: grant.grantId,
        userId: grant.userId
      })
      expect([await active(grant), await active(sibling)]).toEqual([false, true])
    })

    test.each<{ name: string; hash(): TokenHash; clientId(): string }>([
      { name: 'by another client', hash: () => grant.access.hash, clientId: () => 'other' },
      {
        name: 'by an id in other letter case',
        hash: () => grant.access.hash,
        clientId: () => grant.clientId.toUpperCase()
      },
      { name: 'of an unknown token', hash: newHash, clientId: () => grant.clientId },
      { name: 'of a refresh token', hash: () => grant.refresh.hash, clientId: () => grant.clientId }
    ])('$name: changes nothing', async ({ hash, clientId }) => {
      expect(await store.revoke({ hash: hash(), bucket: grant.access.bucket }, clientId())).toBeUndefined()
      expect(await active(grant)).toBe(true)
    })

    test('a second time: returns undefined and keeps the first time', async () => {
      await store.revoke(grant.access, grant.clientId)
      expect(
        await createAccessTokenStore(atTime(database, after(5))).revoke(grant.access, grant.clientId)
      ).toBeUndefined()
      const text = 'select revoked_at from access_tokens where token_hash = $1'
      const rows = await database.query({ name: 'test_revoked_at', text, values: [grant.access.hash] })
      expect(rows).toEqual([{ revoked_at: NOW }])
    })

    test('of 20 concurrent calls one returns the ids', async () => {
      const all = Array.from({ length: 20 }, () => store.revoke(grant.access, grant.clientId))
      expect((await Promise.all(all)).filter((revoked) => revoked !== undefined)).toHaveLength(1)
    })
  })
})

describe('introspection store: concurrent lookups', () => {
  let sent: Statement[]
  let database: Database
  let grant: StoredGrant
  let present = NOW

  beforeAll(async () => {
    database = {
      ...opened.database,
      query(statement) {
        sent.push(statement)
        return atTime(opened.database, () => present).query(statement)
      }
    }
  })
  beforeEach(async () => {
    grant = await storeGrant(opened.database, NOW)
    sent = []
    present = NOW
  })

  const ask = (hash: TokenHash) => ({ hash, bucket: grant.access.bucket })

  test('share a statement, and each has its own result', async () => {
    const { find } = createIntrospectionStore(database)
    const other = await storeGrant(opened.database, NOW)
    const found = await Promise.all([
      find(ask(grant.access.hash)),
      find(ask(newHash())),
      find(ask(other.access.hash)),
      find(ask(newHash())),
      find(ask(grant.access.hash))
    ])
    expect(sent.map(({ name }) => name)).toEqual(['list_access_token_buckets', expect.stringMatching(/^find_for/)])
    expect(found.map((token) => token?.tokenId)).toEqual([
      grant.access.tokenId,
      undefined,
      other.access.tokenId,
      undefined,
      grant.access.tokenId
    ])
  })

  test('a token is inactive at its expiry by the clock of Postgres, regardless of the process clock', async () => {
    const { find } = createIntrospectionStore(database)
    present = new Date(grant.access.expiresAt.getTime() - 1)
    expect((await find(ask(grant.access.hash)))?.tokenId).toBe(grant.access.tokenId)
    present = grant.access.expiresAt
    expect(await find(ask(grant.access.hash))).toBeUndefined()
  })

  test('a token that was revoked before is inactive in all of many concurrent lookups', async () => {
    const { find } = createIntrospectionStore(database)
    const crowd = Array.from({ length: 200 }, () => find(ask(grant.access.hash)))
    const revoke = { name: 'test_revoke', text: 'update access_tokens set revoked_at = now() where token_hash = $1' }
    await opened.database.query({ ...revoke, values: [grant.access.hash] })
    expect(await find(ask(grant.access.hash))).toBeUndefined()
    await Promise.all(crowd)
  })
})

describe('tables by hours', () => {
  const now = new Date()
  const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)
  const NEXT = expiryBucket(later(HOUR))
  let url: string

  beforeAll(async () => {
    url = opened.url
  })
  beforeEach(async () => {
    for (const bucket of await bucketsOf(opened)) await opened.run(`drop table access_tokens_${bucket}`)
  })

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

    test.each([
      { name: 'four hours', hours: 4, width: 1 },
      { name: 'a day', hours: 24, width: 6 },
      { name: '30 days', hours: 720, width: 180 }
    ])('for the expiry of tokens with a lifetime of $name', async ({ hours, width }) => {
      await keep(now, hours * 3_600)
      const last = (ahead: number) => Math.ceil((expiryBucket(later((hours + ahead) * HOUR)) + 1) / width) * width - 1
      expect(await bucketsOf(opened)).toEqual([...new Set([0, 1, 2, 3].map(last))])
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
      for (const hours of [-9_600, -2, 913, 9_600]) {
        await expect(buckets.writeInto(expiryBucket(later(hours * HOUR)), async () => {})).rejects.toThrow(
          StoreUnavailable
        )
      }
      expect(await bucketsOf(opened)).toEqual([])
      for (const hours of [0, 1, 720, 903]) await buckets.writeInto(expiryBucket(later(hours * HOUR)), async () => {})
      expect(await bucketsOf(opened)).toHaveLength(4)
    })

    test('each refuses tokens that are still valid when it may be dropped', async () => {
      await make(NEXT)
      const table = `access_tokens_${NEXT}`
      const last = new Date((NEXT + 1) * HOUR - 1)
      for (const inside of [later(0), last]) await insertToken(opened, table, inside)
      await expect(insertToken(opened, table, new Date(last.getTime() + 1))).rejects.toThrow(/check constraint/)
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
      await keep()
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
      expect((await dropping.query('select drop_access_token_buckets(now()) as dropped')).rows).toEqual([
        { dropped: 1 }
      ])
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
})
