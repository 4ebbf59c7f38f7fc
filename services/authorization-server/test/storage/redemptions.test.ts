import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { connectPostgres } from '@valetkey/service-kit'
import { createConnectedAppStore } from '../../src/storage/connected-apps.js'
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

describe('redemptions at the same time', () => {
  test('share one statement, and each has its own answer', async () => {
    const open = await kit.openGrants(20)
    const unknown = grants.redeem(newDigest(), tokens(), now)
    const redeemed = await Promise.all(open.map(({ codeDigest }) => grants.redeem(codeDigest, tokens(), now)))
    expect(redeemed).toEqual(open.map(() => ({ ...WON, userId: kit.owner.userId })))
    expect(await unknown).toBeUndefined()
    expect(kit.sent).toEqual(['redeem_grant', 'find_own_redemptions'])
    expect(await kit.tokensOf(open)).toEqual({ access: 20, refresh: 20 })
  })

  test('whose tokens end in different hours: a statement for each table', async () => {
    const open = await kit.openGrants(6)
    const ends = [later(HOUR / 2), later(HOUR)]
    await Promise.all(open.map(({ codeDigest }, index) => grants.redeem(codeDigest, tokens(ends[index % 2]), now)))
    expect(kit.sent).toEqual(['redeem_grant', 'redeem_grant'])
    const text =
      'select tableoid::regclass::text as table, count(*)::integer from access_tokens where grant_id = any ($1) group by 1'
    const places = await kit.opened.run<{ table: string; count: number }>(text, [open.map(({ grantId }) => grantId)])
    expect(places.map(({ table, count }) => [table, count]).toSorted()).toEqual(
      ends.map((end) => [`access_tokens_${expiryBucket(end)}`, 3])
    )
  })

  test('one code many times, in one statement and in those of two processes: one wins', async () => {
    const [open] = await kit.openGrants(1)
    if (open === undefined) throw new Error('no grant')
    const stores = [grants, await kit.startGrants()]
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => stores[index % 2]?.redeem(open.codeDigest, tokens(), now))
    )
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1)
    expect(await kit.tokensOf([open])).toEqual({ access: 1, refresh: 1 })
  })

  test('a row that Postgres refuses fails alone', async () => {
    const open = await kit.openGrants(5)
    const settled = await Promise.allSettled(
      open.map(({ codeDigest }, index) =>
        grants.redeem(codeDigest, tokens(undefined, index === 2 ? 'not a uuid' : undefined), now)
      )
    )
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled'
    ])
    expect(settled.map((each) => each.status === 'fulfilled' && each.value !== undefined)).toEqual([
      true,
      true,
      false,
      true,
      true
    ])
    expect(await kit.tokensOf(open)).toEqual({ access: 4, refresh: 4 })
  })

  test('a refused row in one hour does not cost those of another hour what they have won', async () => {
    const open = await kit.openGrants(4)
    const settled = await Promise.allSettled(
      open.map(({ codeDigest }, index) =>
        grants.redeem(
          codeDigest,
          tokens(later(index < 2 ? HOUR / 2 : HOUR), index === 3 ? 'not a uuid' : undefined),
          now
        )
      )
    )
    expect(settled.map((each) => each.status === 'fulfilled' && each.value !== undefined)).toEqual([
      true,
      true,
      true,
      false
    ])
    expect(await kit.tokensOf(open)).toEqual({ access: 3, refresh: 3 })
  })
})

test('whoever locks many grants does so in one order: no deadlock between exchanges, notes of use and endings', async () => {
  const other = connectPostgres(kit.opened.url, { connections: 10 })
  const apps = createConnectedAppStore(other)
  const deadlocks = () => kit.opened.run('select deadlocks from pg_stat_database where datname = current_database()')
  const before = await deadlocks()
  for (let round = 0; round < 30; round++) {
    const open = await kit.openGrants(100)
    const uses = open.toReversed().map(({ grantId }) => [grantId, later(round)] as const)
    const [redeemed] = await Promise.all([
      Promise.all(open.map(({ codeDigest }) => grants.redeem(codeDigest, tokens(), now))),
      ...[0, 1, 2].map((rotation) =>
        apps.noteUse(new Map([...uses.slice(rotation * 30), ...uses.slice(0, rotation * 30)]))
      ),
      ...(round % 3 === 0 ? [apps.end(kit.owner.userId, kit.owner.clientId, now)] : [])
    ])
    expect(redeemed.filter((each) => each === undefined)).toEqual([])
  }
  await other.close()
  await kit.opened.run('select pg_stat_force_next_flush()')
  expect(await deadlocks()).toEqual(before)
}, 30_000)
