import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Exchange } from '../../../src/storage/postgres/exchanges.js'
import { createGrantStore, type GrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { again, exchangeOf, later, now, prepareExchanges, STORED } from '../../support/exchanges.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { atTime } from '../../support/postgres-clock.js'
import { newHash } from '../../support/stored-grant.js'

let kit: Awaited<ReturnType<typeof prepareExchanges>>
let present = now
let grants: GrantStore
let exchange: Exchange

beforeAll(async () => {
  kit = await prepareExchanges()
  grants = createGrantStore(
    atTime(kit.opened.database, () => present),
    undefined,
    { limitsFactor: 1_000 }
  )
})
beforeEach(() => {
  present = now
  exchange = exchangeOf(kit.owner)
})
afterAll(() => kit.opened.close())

type Row = Record<string, unknown>

const rowOf = async ({ codeHash } = exchange): Promise<Row | undefined> =>
  (await kit.opened.run<Row>('select * from grants where code_hash = $1', [codeHash]))[0]

const isAlive = async ({ tokens } = exchange) =>
  (await findLiveAccessToken(kit.opened.database, tokens.accessToken.hash, later(1_000))) !== undefined

const refreshTokenOf = ({ tokens }: Exchange) =>
  createRefreshTokenStore(kit.opened.database).find(tokens.refreshToken?.hash ?? newHash())

describe('findByCode', () => {
  test.each([
    { name: 'with a challenge', codeChallenge: 'challenge' },
    { name: 'without a challenge', codeChallenge: undefined }
  ])('a grant $name: returns the code binding', async ({ codeChallenge }) => {
    const own = exchangeOf(kit.owner, { binding: { codeChallenge } })
    await grants.storeExchange(own)
    const { grantId, allowed } = own
    const found = { grantId, userId: kit.owner.userId, binding: allowed.binding }
    expect(await grants.findByCode(own.codeHash)).toEqual(found)
    await grants.end(grantId)
    expect(await grants.findByCode(own.codeHash)).toEqual(found)
  })

  test('a code without issued tokens: undefined', async () => {
    expect(await grants.findByCode(newHash())).toBeUndefined()
    await grants.endReplayed(exchange.codeHash)
    expect(await rowOf()).toBeUndefined()
  })
})

describe('end', () => {
  test('ends only this grant, and keeps the first time of the end', async () => {
    const other = exchangeOf(kit.owner)
    await Promise.all([exchange, other].map(grants.storeExchange))
    present = later(1_000)
    expect(await grants.end(exchange.grantId)).toEqual({ userId: kit.owner.userId })
    present = later(2_000)
    expect(await grants.end(exchange.grantId)).toBeUndefined()
    expect(await rowOf()).toMatchObject({ ended_at: later(1_000) })
    expect(await rowOf(other)).toMatchObject({ ended_at: null })
    expect([await isAlive(), await isAlive(other)]).toEqual([false, true])
  })
})

describe('endReplayed', () => {
  test('the grant ends, the first end is kept, and the next exchange stores nothing', async () => {
    await grants.storeExchange(exchange)
    present = later(1_000)
    await grants.endReplayed(exchange.codeHash)
    present = later(2_000)
    await grants.endReplayed(exchange.codeHash)
    expect(await rowOf()).toMatchObject({ grant_id: exchange.grantId, ended_at: later(1_000), redeemed_at: now })
    expect(await isAlive()).toBe(false)
    expect(await refreshTokenOf(exchange)).toMatchObject({ ended: true })
    expect(await grants.storeExchange(again(exchange))).toBeUndefined()
  })

  test('a discarded exchange does not end, so the next exchange of the code gets tokens', async () => {
    await grants.storeExchange(exchange)
    await grants.discardUndelivered(exchange.codeHash, [exchange.grantId])
    await grants.endReplayed(exchange.codeHash)
    const retry = again(exchange)
    expect(await grants.storeExchange(retry)).toEqual(STORED)
    expect(await isAlive(retry)).toBe(true)
  })

  test('50 pairs of concurrent exchanges and endings: each exchange is stored, and none ends twice', async () => {
    const exchanges = kit.newExchanges(50)
    const stored = await Promise.all(
      exchanges.map(async (each) => {
        const [scope] = await Promise.all([grants.storeExchange(each), grants.endReplayed(each.codeHash)])
        await grants.endReplayed(each.codeHash)
        return scope
      })
    )
    expect(stored).toEqual(exchanges.map(() => STORED))
    const alive = await Promise.all(exchanges.map(isAlive))
    expect(alive).toEqual(exchanges.map(() => false))
  })
})

describe('discardUndelivered', () => {
  test('allows another exchange of the code; earlier tokens have ended', async () => {
    await grants.storeExchange(exchange)
    await grants.discardUndelivered(exchange.codeHash, ['d1f0f0f0-0000-4000-8000-000000000002', exchange.grantId])
    expect(await grants.findByCode(exchange.codeHash)).toBeUndefined()
    present = later(5_000)
    const retry = again({ ...exchange, tokens: { ...exchange.tokens, issuedAt: present } })
    expect(await grants.storeExchange(retry)).toEqual(STORED)
    expect([await isAlive(), await isAlive(retry)]).toEqual([false, true])
    expect(await refreshTokenOf(exchange)).toBeUndefined()
    expect(await refreshTokenOf(retry)).toMatchObject({ ended: false })
  })

  test('does not change grants of other exchanges or codes', async () => {
    const other = exchangeOf(kit.owner)
    await Promise.all([exchange, other].map(grants.storeExchange))
    await grants.discardUndelivered(exchange.codeHash, [other.grantId])
    await grants.discardUndelivered(exchange.codeHash, [])
    expect([await isAlive(), await isAlive(other)]).toEqual([true, true])
  })

  test.each([
    { name: 'a replay', end: () => grants.endReplayed(exchange.codeHash) },
    { name: 'an operator', end: () => grants.end(exchange.grantId) }
  ])('a grant that $name ended: the next exchange stores no tokens', async ({ end }) => {
    await grants.storeExchange(exchange)
    await end()
    await grants.discardUndelivered(exchange.codeHash, [exchange.grantId])
    expect(await grants.storeExchange(again(exchange))).toBeUndefined()
    expect(await isAlive()).toBe(false)
    expect(await kit.tokensOf([exchange])).toEqual({ access: 1, refresh: 1 })
  })
})
