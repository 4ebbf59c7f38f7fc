import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createIntrospectionStore } from '../../../src/storage/postgres/introspections.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { NOTE } from '../../support/audit-note.js'
import { exchangeOf } from '../../support/exchanges.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { rotationOf } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'
import { bucketsOf, HOUR, insertToken } from '../../support/token-tables.js'

const now = new Date()
let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

describe('tables of access tokens', () => {
  const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)
  let sent: string[]
  let database: Database
  let grant: StoredGrant

  beforeAll(async () => {
    database = {
      ...opened.database,
      query(statement) {
        sent.push(statement.name)
        return opened.database.query(statement)
      }
    }
  })
  beforeEach(async () => {
    grant = await storeGrant(opened.database, now)
    sent = []
  })

  /** The stores of one process share a list of tables. */
  async function startProcess(longestLifetime = 3_600) {
    const buckets = createAccessTokenBuckets(database)
    await buckets.keep(longestLifetime)
    sent = []
    const introspections = createIntrospectionStore(database, buckets)
    const tokens = createAccessTokenStore(database, buckets)
    const grants = createGrantStore(database, buckets)
    const refreshTokens = createRefreshTokenStore(database, buckets)
    return {
      find: async (token: { hash: StoredGrant['access']['hash']; bucket: number }) =>
        (await introspections.find(token))?.grantId,
      revoke: (token: Pick<StoredGrant['access'], 'hash' | 'bucket'>) => tokens.revoke(token, grant.clientId),
      /** The first access token of a new grant, with this expiry. */
      async issue(expiresAt: Date) {
        const access = { hash: newHash(), bucket: expiryBucket(expiresAt, longestLifetime), expiresAt }
        const exchange = exchangeOf(grant, { tokens: { issuedAt: now, refreshToken: undefined, accessToken: access } })
        await grants.storeExchange(exchange)
        return { ...exchange, access }
      },
      /** A refresh of the grant; the new access token has this expiry. */
      refresh: (expiresAt: Date) =>
        refreshTokens.rotate(
          rotationOf(grant.refresh.hash, {
            accessToken: { hash: newHash(), bucket: expiryBucket(expiresAt), scope: ['files.read'], expiresAt },
            retry: undefined
          }),
          now
        )
    }
  }

  const drop = (bucket: number) => opened.run(`drop table access_tokens_${bucket}`)

  describe('a lookup reads the table of the hour in the token', () => {
    test('tokens of one hour take one statement, and those of another hour another', async () => {
      const { find, issue } = await startProcess()
      const [soon, late] = [await issue(later(HOUR)), await issue(later(2 * HOUR))]
      sent = []
      const found = await Promise.all([find(soon.access), find(late.access), find(soon.access)])
      expect(found).toEqual([soon.grantId, late.grantId, soon.grantId])
      expect(sent).toEqual([soon, late].map(({ access }) => `find_for_introspection_in_access_tokens_${access.bucket}`))
    })

    test('an expired hour: not found, without a statement', async () => {
      const { find } = await startProcess()
      expect(await find({ ...grant.access, bucket: expiryBucket(now) - 1 })).toBeUndefined()
      expect(await find({ ...grant.access, bucket: 0 })).toBeUndefined()
      expect(sent).toEqual([])
    })

    test('a token with the wrong hour: not found', async () => {
      const { find, issue } = await startProcess()
      const { access } = await issue(later(HOUR))
      expect(await find({ ...access, bucket: access.bucket + 1 })).toBeUndefined()
    })

    test('100 concurrent unknown hours: the list of tables is read at most twice', async () => {
      const { find } = await startProcess()
      const far = (index: number) => ({ hash: newHash(), bucket: 900_000 + index })
      const found = await Promise.all(Array.from({ length: 100 }, (_, index) => find(far(index))))
      expect(found.filter((each) => each !== undefined)).toEqual([])
      expect(sent.filter((name) => name === 'list_access_token_buckets').length).toBeLessThanOrEqual(2)
    })

    test('repeated unknown hours delay concurrent lookups by only some milliseconds', async () => {
      const { find, issue } = await startProcess()
      const { grantId, access } = await issue(later(HOUR))
      const durationBeside = async (bucketOf: (turn: number) => number) => {
        const began = performance.now()
        for (let turn = 0; turn < 20; turn++) {
          const [found] = await Promise.all([find(access), find({ hash: newHash(), bucket: bucketOf(turn) })])
          expect(found).toBe(grantId)
        }
        return performance.now() - began
      }
      const known = await durationBeside(() => access.bucket)
      const unknown = await durationBeside((turn) => 900_000 + turn)
      expect(unknown).toBeLessThan(1_000 + 10 * known)
    })

    test('a recently dropped table: not found, and no error', async () => {
      const { find, issue, revoke } = await startProcess()
      const { access } = await issue(later(HOUR))
      await drop(access.bucket)
      expect(await find(access)).toBeUndefined()
      const other = await startProcess()
      const second = await issue(later(HOUR))
      await drop(access.bucket)
      expect(await other.revoke(second.access)).toBeUndefined()
      expect(await revoke(second.access)).toBeUndefined()
    })
  })

  describe('issuing a token creates a missing table', () => {
    test('for an hour without a table: a clock that jumped, a longer lifetime, a long stop', async () => {
      const { find, issue } = await startProcess()
      const { grantId, access } = await issue(later(500 * HOUR))
      expect(await bucketsOf(opened)).toContain(access.bucket)
      expect(await find(access)).toBe(grantId)
    })

    test('for a table that is listed but missing in Postgres: a restored database', async () => {
      const { find, issue } = await startProcess()
      const lost = await issue(later(HOUR))
      await drop(lost.access.bucket)
      const { grantId, access } = await issue(later(HOUR))
      expect(access.bucket).toBe(lost.access.bucket)
      expect([await find(access), await find(lost.access)]).toEqual([grantId, undefined])
    })

    test('a table that another process created for another lifetime is found at the first lookup', async () => {
      const [first, second] = [await startProcess(), await startProcess()]
      const { grantId, access } = await second.issue(later(300 * HOUR))
      expect(await first.find(access)).toBe(grantId)
    })
  })

  describe('a table that cannot be created is an outage', () => {
    const signature = 'make_access_token_buckets(integer, integer)'
    const bucket = expiryBucket(later(400 * HOUR))

    test.each<{ name: string; prevent: string; allow: string }>([
      {
        name: 'Postgres refuses to create it',
        prevent: 'alter table access_tokens rename column token_hash to hash',
        allow: 'alter table access_tokens rename column hash to token_hash'
      },
      {
        name: 'the function is missing',
        prevent: `alter function ${signature} rename to make_nothing`,
        allow: 'alter function make_nothing(integer, integer) rename to make_access_token_buckets'
      }
    ])('nothing is stored while $name', async ({ prevent, allow }) => {
      const { issue, refresh } = await startProcess()
      const before = await countGrants()
      await opened.run(prevent)
      try {
        await expect(issue(later(400 * HOUR))).rejects.toThrow(StoreUnavailable)
        await expect(refresh(later(400 * HOUR))).rejects.toThrow(StoreUnavailable)
      } finally {
        await opened.run(allow)
      }
      expect(await countGrants()).toBe(before)
      expect(await refresh(later(400 * HOUR))).toBe(true)
      await issue(later(400 * HOUR))
      expect(await bucketsOf(opened)).toContain(bucket)
      await drop(bucket)
    })

    test('tokens of other hours can be issued', async () => {
      const { find, issue } = await startProcess()
      await opened.run(`alter function ${signature} rename to make_nothing`)
      try {
        const [good, bad] = await Promise.allSettled([issue(later(HOUR)), issue(later(400 * HOUR))])
        expect([good.status, bad.status]).toEqual(['fulfilled', 'rejected'])
        if (good.status === 'fulfilled') expect(await find(good.value.access)).toBe(good.value.grantId)
      } finally {
        await opened.run('alter function make_nothing(integer, integer) rename to make_access_token_buckets')
      }
    })

    async function countGrants(): Promise<unknown> {
      return (await opened.run('select count(*) as count from grants'))[0]?.count
    }
  })

  describe('with lifetimes of a day, a table covers six hours', () => {
    const DAY = 24 * 3_600

    test('tokens issued during a day are in at most five tables, which are looked up with a statement each', async () => {
      const { find, issue } = await startProcess(DAY)
      const issued = []
      for (let hours = 1; hours <= 24; hours++) issued.push(await issue(later(hours * HOUR)))
      sent = []
      const found = await Promise.all(issued.map(({ access }) => find(access)))
      expect(found).toEqual(issued.map(({ grantId }) => grantId))
      expect(new Set(issued.map(({ access }) => access.bucket)).size).toBeLessThanOrEqual(5)
      expect(sent.length).toBeLessThanOrEqual(5)
    })

    test.each([
      { name: 'raised to a day', before: 3_600, after: DAY },
      { name: 'lowered to an hour', before: DAY, after: 3_600 }
    ])(
      'a lifetime $name: tokens issued before and afterwards are found by both processes',
      async ({ before, after }) => {
        const processes = [await startProcess(before), await startProcess(after)]
        const issued = []
        for (const { issue } of processes)
          for (const hours of [1, 2, 3, 4, 5, 6]) issued.push(await issue(later(hours * HOUR)))
        for (const { find } of processes) {
          const found = await Promise.all(issued.map(({ access }) => find(access)))
          expect(found).toEqual(issued.map(({ grantId }) => grantId))
        }
      }
    )

    test('a table has tokens of both lifetimes, if the last hour of six is the hour of a short-lived one', async () => {
      const [long, short] = [await startProcess(DAY), await startProcess()]
      const end = new Date((expiryBucket(later(7 * HOUR), DAY) + 1) * HOUR - 1)
      const tokens = [await long.issue(new Date(end.getTime() - 5 * HOUR)), await short.issue(end)]
      expect(tokens[0]?.access.bucket).toBe(tokens[1]?.access.bucket)
      for (const { access, grantId } of tokens) expect(await short.find(access)).toBe(grantId)
    })
  })

  test('no token can be stored outside the tables of buckets', async () => {
    await expect(insertToken(opened, 'access_tokens', later(HOUR))).rejects.toThrow(/access_tokens_holds_no_rows/)
  })

  test('another missing table is an error, not an inactive token', async () => {
    const { find, issue, revoke } = await startProcess()
    const { grantId, access } = await issue(later(HOUR))
    await opened.run('alter table grants rename to no_grants')
    try {
      await expect(find(access)).rejects.toThrow(/"grants" does not exist/)
      await expect(revoke(access)).rejects.toThrow(/"grants" does not exist/)
    } finally {
      await opened.run('alter table no_grants rename to grants')
    }
    expect(await find(access)).toBe(grantId)
  })
})

describe('grants that were refreshed', () => {
  let grant: StoredGrant
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1_000)
  beforeEach(async () => {
    grant = await storeGrant(opened.database, now)
    await opened.run('update grants set expires_at = $1 where grant_id = $2', [after(-10), grant.grantId])
  })

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
})
