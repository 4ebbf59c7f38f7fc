import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from '../../src/storage/access-token-buckets.js'
import { createAccessTokenStore } from '../../src/storage/access-tokens.js'
import { createExpiredRows } from '../../src/storage/expired-rows.js'
import { createGrantStore } from '../../src/storage/grants.js'
import { createIntrospectionStore } from '../../src/storage/introspections.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'
import { newDigest, type StoredGrant, storeGrant } from '../support/stored-grant.js'
import { bucketsOf, HOUR, insertToken } from '../support/token-tables.js'

const now = new Date()
const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)

let opened: MigratedDatabase
let sent: string[]
let database: Database
let grant: StoredGrant

beforeAll(async () => {
  opened = await createMigratedDatabase()
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
afterAll(() => opened.close())

/** A process: its stores share one list of tables. */
async function startProcess() {
  const buckets = createAccessTokenBuckets(database)
  await buckets.keep(now, 3_600)
  sent = []
  const introspections = createIntrospectionStore(database, buckets)
  const tokens = createAccessTokenStore(database, buckets)
  const grants = createGrantStore(database, buckets)
  return {
    find: async (token: { digest: StoredGrant['access']['digest']; bucket: number }, at = now) =>
      (await introspections.find({ token, now: at }))?.grantId,
    revoke: (token: StoredGrant['access']) => tokens.revoke(token, grant.clientId, now),
    /** The first access token of a grant of its own, which ends then. */
    async issue(expiresAt: Date) {
      const own = { grantId: randomUUID(), codeDigest: newDigest() }
      await opened.run(
        `insert into grants select (jsonb_populate_record(g, jsonb_build_object('grant_id', $1::text, 'redeemed_at', null,
           'code_hash', $2::bytea))).* from grants g where grant_id = $3`,
        [own.grantId, own.codeDigest, grant.grantId]
      )
      const access = { digest: newDigest(), tokenId: randomUUID(), expiresAt, bucket: expiryBucket(expiresAt) }
      await grants.redeem(
        own.codeDigest,
        { accessToken: access, refreshToken: undefined, refreshableUntil: undefined },
        now
      )
      return { ...own, access }
    }
  }
}

const drop = (bucket: number) => opened.run(`drop table access_tokens_${bucket}`)

describe('a look goes to the table that the token names', () => {
  test('one statement, and another for tokens that end in another hour', async () => {
    const { find, issue } = await startProcess()
    const [soon, late] = [await issue(later(HOUR)), await issue(later(2 * HOUR))]
    sent = []
    const found = await Promise.all([find(soon.access), find(late.access), find(soon.access)])
    expect(found).toEqual([soon.grantId, late.grantId, soon.grantId])
    expect(sent).toEqual([soon, late].map(({ access }) => `find_for_introspection_in_access_tokens_${access.bucket}`))
  })

  test('an hour that is over: nothing, without a look', async () => {
    const { find } = await startProcess()
    expect(await find(grant.access, later(2 * HOUR))).toBeUndefined()
    expect(await find({ ...grant.access, bucket: 0 })).toBeUndefined()
    expect(sent).toEqual([])
  })

  test('the wrong hour: nothing', async () => {
    const { find, issue } = await startProcess()
    const { access } = await issue(later(HOUR))
    expect(await find({ ...access, bucket: access.bucket + 1 })).toBeUndefined()
  })

  test('hours that no token ends in: a hundred at once, and the list is read twice at most', async () => {
    const { find } = await startProcess()
    const far = (index: number) => ({ digest: newDigest(), bucket: 900_000 + index })
    const found = await Promise.all(Array.from({ length: 100 }, (_, index) => find(far(index))))
    expect(found.filter((each) => each !== undefined)).toEqual([])
    expect(sent.filter((name) => name === 'list_access_token_buckets').length).toBeLessThanOrEqual(2)
  })

  test('hours that no token ends in, again and again: whoever asks together with them waits for some milliseconds', async () => {
    const { find, issue } = await startProcess()
    const { grantId, access } = await issue(later(HOUR))
    const began = performance.now()
    for (let turn = 0; turn < 20; turn++) {
      const [found] = await Promise.all([find(access), find({ digest: newDigest(), bucket: 900_000 + turn })])
      expect(found).toBe(grantId)
    }
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  test('a table dropped a moment ago: nothing, and no error', async () => {
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

describe('issuing never fails for want of a table', () => {
  test('none for that hour yet: a clock that jumped, a longer lifetime, a long stop', async () => {
    const { find, issue } = await startProcess()
    const { grantId, access } = await issue(later(500 * HOUR))
    expect(await bucketsOf(opened)).toContain(access.bucket)
    expect(await find(access)).toBe(grantId)
  })

  test('one in the list, but not in Postgres: a database that was put back', async () => {
    const { find, issue } = await startProcess()
    const lost = await issue(later(HOUR))
    await drop(lost.access.bucket)
    const { grantId, access } = await issue(later(HOUR))
    expect(access.bucket).toBe(lost.access.bucket)
    expect([await find(access), await find(lost.access)]).toEqual([grantId, undefined])
  })

  test('one that another process made: found at the first look, with a lifetime that this one does not know', async () => {
    const [first, second] = [await startProcess(), await startProcess()]
    const { grantId, access } = await second.issue(later(300 * HOUR))
    expect(await first.find(access)).toBe(grantId)
  })
})

describe('beside a release that knows no buckets', () => {
  test('what it wrote is found, revoked, and deleted when it has expired', async () => {
    const { find, revoke } = await startProcess()
    const [old, older] = [later(50 * 60_000), later(40 * 60_000)]
    const token = await insertToken(opened, 'access_tokens', old, grant.grantId)
    const second = await insertToken(opened, 'access_tokens', older, grant.grantId)
    expect([await find(token), await find(second)]).toEqual([grant.grantId, grant.grantId])
    await revoke({ ...grant.access, ...token })
    expect([await find(token), await find(second)]).toEqual([undefined, grant.grantId])
    await createExpiredRows(opened.database).deleteSome(later(45 * 60_000))
    const left = await opened.run('select token_hash from only access_tokens')
    expect(left).toEqual([{ token_hash: token.digest }])
  })

  test('it finds and revokes what this one writes', async () => {
    const { find, issue } = await startProcess()
    const { grantId, access } = await issue(later(HOUR))
    const seen = await opened.run('select grant_id from access_tokens where token_hash = $1', [access.digest])
    expect(seen).toEqual([{ grant_id: grantId }])
    await opened.run('update access_tokens set revoked_at = now() where token_hash = $1', [access.digest])
    expect(await find(access)).toBeUndefined()
  })

  test('its clean-up, which goes by the place of a row, takes no live token along', async () => {
    await opened.run('truncate access_tokens')
    const buckets = [expiryBucket(now) - 2, expiryBucket(now) + 2]
    for (const bucket of buckets) await opened.run('select make_access_token_buckets($1, $1)', [bucket])
    const [over, live] = buckets.map((bucket) => ({ table: `access_tokens_${bucket}`, end: new Date(bucket * HOUR) }))
    if (over === undefined || live === undefined) throw new Error('two buckets')
    // Each of them the first row of its table.
    await insertToken(opened, over.table, over.end)
    const kept = [await insertToken(opened, live.table, live.end), await insertToken(opened, 'access_tokens', live.end)]
    await opened.run(
      `delete from access_tokens where ctid = any (array(
          select ctid from access_tokens where expires_at <= $1 limit 1000 for update skip locked
        )) returning 1 as deleted`,
      [now]
    )
    const left = await opened.run<{ token_hash: Buffer }>('select token_hash from access_tokens')
    expect(left.map(({ token_hash }) => token_hash.toString('hex')).toSorted()).toEqual(
      kept.map(({ digest }) => digest.toString('hex')).toSorted()
    )
  })
})
