import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import type { GrantStore } from '../../src/storage/grants.js'
import { later, now, prepareRedemptions, tokens, WON } from '../support/redemptions.js'
import { newDigest } from '../support/stored-grant.js'
import { HOUR } from '../support/token-tables.js'

let kit: Awaited<ReturnType<typeof prepareRedemptions>>
let grants: GrantStore

beforeAll(async () => {
  kit = await prepareRedemptions()
})
beforeEach(async () => {
  grants = await kit.startGrants()
})
afterAll(() => kit.opened.close())

describe('the connection breaks', () => {
  /** Loses so many redemptions, before Postgres has seen them or after it has committed them. */
  const losing = (times: number, when: 'before' | 'after') => (database: Database) => ({
    ...database,
    async query<Row extends object>(statement: Parameters<Database['query']>[0]) {
      if (times === 0 || !statement.name.startsWith('redeem_grant')) return database.query<Row>(statement)
      times -= 1
      if (when === 'after') await database.query(statement)
      throw new StoreUnavailable('postgres', new Error('lost'))
    }
  })

  test.each(['before', 'after'] as const)('once, %s the commit: sent again, and all have won, once', async (when) => {
    const open = await kit.openGrants(10)
    const store = await kit.startGrants(losing(1, when))
    const redeemed = await Promise.all(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(), now)))
    expect(redeemed).toEqual(open.map(() => WON))
    expect(await kit.tokensOf(open)).toEqual({ access: 10, refresh: 10 })
  })

  test('after the commit of a batch that lost a code to somebody else: that one stays lost', async () => {
    const open = await kit.openGrants(3)
    await grants.redeem(open[1]?.codeDigest ?? newDigest(), tokens(), now)
    const store = await kit.startGrants(losing(1, 'after'))
    const redeemed = await Promise.all(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(), now)))
    expect(redeemed).toEqual([WON, undefined, WON])
  })

  test('after the commit, where there was no table for the tokens, and is one now: they are found where they lie', async () => {
    const open = await kit.openGrants(3)
    const expiresAt = later(40 * HOUR)
    let heldUp = 1
    const store = await kit.startGrants((database) => {
      const { query } = losing(1, 'after')(database)
      return {
        ...database,
        query: async (statement) => {
          const { name, values } = statement
          if (name === 'make_access_token_buckets' && values[0] === expiryBucket(expiresAt) && heldUp-- > 0) {
            throw new Error('held up')
          }
          return query(statement)
        }
      }
    })
    const redeemed = await Promise.all(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(expiresAt), now)))
    expect(redeemed).toEqual(open.map(() => WON))
    expect(await kit.tokensOf(open)).toEqual({ access: 3, refresh: 3 })
  })

  test('twice: everyone is told, and nothing is sent a third time', async () => {
    const open = await kit.openGrants(3)
    const store = await kit.startGrants(losing(2, 'before'))
    const settled = await Promise.allSettled(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(), now)))
    for (const each of settled) expect(each).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) })
    expect(kit.sent).toEqual(['redeem_grant', 'redeem_grant'])
  })

  test('twice, for the tokens of one hour: those of another hour have won, and are told so', async () => {
    const open = await kit.openGrants(4)
    const lost = `redeem_grant_in_access_tokens_${expiryBucket(later(HOUR))}`
    const store = await kit.startGrants((database) => ({
      ...database,
      query: async (statement) => {
        if (statement.name === lost) throw new StoreUnavailable('postgres', new Error('lost'))
        return database.query(statement)
      }
    }))
    const ends = [later(HOUR / 2), later(HOUR)]
    const settled = await Promise.allSettled(
      open.map(({ codeDigest }, index) => store.redeem(codeDigest, tokens(ends[index % 2]), now))
    )
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(await kit.tokensOf(open)).toEqual({ access: 2, refresh: 2 })
  })

  test('within the statement, by the server: sent again', async () => {
    const open = await kit.openGrants(3)
    const holder = new Client({ connectionString: kit.opened.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select 1 from grants where grant_id = $1 for update', [open[0]?.grantId])
    const redeeming = Promise.all(open.map(({ codeDigest }) => grants.redeem(codeDigest, tokens(), now)))
    const waiting = `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await kit.opened.run(waiting)).length === 0);
    await holder.query('commit')
    await holder.end()
    expect(await redeeming).toEqual(open.map(() => WON))
    expect(await kit.tokensOf(open)).toEqual({ access: 3, refresh: 3 })
  })
})
