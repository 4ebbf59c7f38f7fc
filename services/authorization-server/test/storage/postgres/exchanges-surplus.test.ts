import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createGrantStore, type GrantStore } from '../../../src/storage/postgres/grants.js'
import { exchangeOf, later, now, prepareExchanges } from '../../support/exchanges.js'
import { atTime } from '../../support/postgres-clock.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let kit: Awaited<ReturnType<typeof prepareExchanges>>
let grants: GrantStore

beforeAll(async () => {
  kit = await prepareExchanges()
  grants = await kit.startGrants(undefined, 1)
})
afterAll(() => kit.opened.close())

describe('grants of one user and client', () => {
  const grantsOf = ({ userId }: StoredGrant) =>
    kit.opened.run<{ grant_id: string; ended: boolean }>(
      'select grant_id, ended_at is not null as ended from grants where user_id = $1 order by created_at, grant_id',
      [userId]
    )
  const exchangesOf = (owner: StoredGrant, count: number) =>
    Array.from({ length: count }, (_, index) => exchangeOf(owner, { tokens: { issuedAt: later(index + 1) } }))

  test('the oldest end when there are more than 50, one statement each', async () => {
    const owner = await storeGrant(kit.opened.database, now)
    const exchanges = exchangesOf(owner, 52)
    const ended: string[] = []
    for (const exchange of exchanges) ended.push(...((await grants.storeExchange(exchange))?.ended ?? []))
    expect(ended).toEqual([owner.grantId, exchanges[0]?.grantId, exchanges[1]?.grantId])
    const rows = await grantsOf(owner)
    expect(rows.map((row) => row.ended)).toEqual([...Array(3).fill(true), ...Array(50).fill(false)])
    expect(new Set(kit.sent)).toEqual(new Set(['store_exchange']))
  })

  test('those of one statement count, those of other users, other clients and ended ones do not', async () => {
    const [owner, other] = [await storeGrant(kit.opened.database, now), await storeGrant(kit.opened.database, now)]
    const sameUser = await storeGrant(kit.opened.database, now, { userId: owner.userId })
    const exchanges = exchangesOf(owner, 51)
    for (const exchange of exchanges.slice(0, 40)) await grants.storeExchange(exchange)
    await grants.end(owner.grantId)
    const stored = await Promise.all([...exchanges.slice(40), exchangeOf(other)].map(grants.storeExchange))
    expect(stored.flatMap((each) => each?.ended ?? [])).toEqual([exchanges[0]?.grantId])
    const [{ ended } = { ended: true }] = (await grantsOf(other)).filter(({ grant_id: id }) => id === other.grantId)
    const own = await grantsOf(owner)
    expect([ended, own.find(({ grant_id: id }) => id === sameUser.grantId)?.ended]).toEqual([false, false])
    expect(own.filter((row) => !row.ended)).toHaveLength(51)
  })

  test('an exchange ends at most 10, and the next one the next 10', async () => {
    const owner = await storeGrant(kit.opened.database, now)
    const lenient = createGrantStore(atTime(kit.opened.database, now), undefined, { limitsFactor: 10 })
    for (const exchange of exchangesOf(owner, 64)) await lenient.storeExchange(exchange)
    expect((await grants.storeExchange(exchangeOf(owner, { tokens: { issuedAt: later(100) } })))?.ended).toHaveLength(
      10
    )
    expect((await grants.storeExchange(exchangeOf(owner, { tokens: { issuedAt: later(101) } })))?.ended).toHaveLength(7)
  })
})
