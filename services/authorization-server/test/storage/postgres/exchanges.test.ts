import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { connectPostgres, StoreUnavailable } from '@valetkey/service-kit'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import type { GrantStore } from '../../../src/storage/postgres/grants.js'
import { again, endingAt, exchangeOf, later, now, prepareExchanges, STORED } from '../../support/exchanges.js'
import { newHash } from '../../support/stored-grant.js'
import { HOUR } from '../../support/token-tables.js'

const DAY = 86_400

let kit: Awaited<ReturnType<typeof prepareExchanges>>
let grants: GrantStore

beforeAll(async () => {
  kit = await prepareExchanges()
})
beforeEach(async () => {
  grants = await kit.startGrants()
})
afterAll(() => kit.opened.close())

type Row = Record<string, unknown>

const rowsOf = (table: 'grants' | 'access_tokens' | 'refresh_tokens', { grantId }: { grantId: string }) =>
  kit.opened.run<Row>(`select * from ${table} where grant_id = $1`, [grantId])

describe('an exchange', () => {
  test('stores the grant, both tokens and the generations of Allow', async () => {
    const { clientId, clientGeneration, userId } = kit.owner
    const exchange = exchangeOf(kit.owner)
    const { codeHash, grantId, tokens } = exchange
    expect(await grants.storeExchange(exchange)).toEqual(STORED)
    expect(await rowsOf('grants', exchange)).toEqual([
      {
        grant_id: grantId,
        client_id: clientId,
        user_id: userId,
        scope: STORED.scope,
        newest_scope: 1_000,
        audience: 'https://files.example',
        redirect_uri: 'https://app.example/callback',
        code_challenge: 'challenge',
        code_hash: codeHash,
        user_generation: 0,
        client_generation: clientGeneration,
        authorization_generation: 0,
        created_at: now,
        redeemed_at: now,
        ended_at: null,
        last_used_at: now,
        refreshable_until: later(HOUR),
        refresh_allowed_from: null,
        extended_until: null,
        expires_at: later(HOUR)
      }
    ])
    const shared = { grant_id: grantId, user_generation: 0, client_generation: clientGeneration, issued_at: now }
    const { accessToken, refreshToken } = tokens
    expect(await rowsOf('access_tokens', exchange)).toEqual([
      {
        ...shared,
        token_hash: accessToken.hash,
        token_id: expect.any(String),
        scope: STORED.scope,
        expires_at: accessToken.expiresAt,
        revoked_at: null
      }
    ])
    const ofRefreshToken = { ...shared, token_hash: refreshToken?.hash, expires_at: later(HOUR), rotated_at: null }
    expect(await rowsOf('refresh_tokens', exchange)).toMatchObject([ofRefreshToken])
  })

  test.each([
    { name: 'the refresh token expires later', access: 100, refresh: 1_000, expires: 1_000 },
    { name: 'the access token expires later', access: 2_000, refresh: 1_000, expires: 2_000 },
    { name: 'there is no refresh token', access: 100, refresh: undefined, expires: 100 }
  ])('the expiry of the row is that of its last token: $name', async ({ access, refresh, expires }) => {
    const exchange = exchangeOf(kit.owner, {
      tokens: {
        accessToken: { hash: newHash(), expiresAt: later(access * 1_000) },
        refreshToken: refresh === undefined ? undefined : { hash: newHash(), expiresAt: later(refresh * 1_000) }
      }
    })
    await grants.storeExchange(exchange)
    expect(await rowsOf('grants', exchange)).toMatchObject([{ expires_at: later(expires * 1_000) }])
    expect(await rowsOf('refresh_tokens', exchange)).toHaveLength(refresh === undefined ? 0 : 1)
  })

  test('of a code that already has a grant stores nothing', async () => {
    const first = exchangeOf(kit.owner)
    const second = again(first)
    expect(await grants.storeExchange(first)).toEqual(STORED)
    expect(await grants.storeExchange(second)).toBeUndefined()
    expect((await rowsOf('access_tokens', first)).map((row) => row.token_hash)).toEqual([first.tokens.accessToken.hash])
    expect(await rowsOf('access_tokens', second)).toEqual([])
    expect(await rowsOf('refresh_tokens', second)).toEqual([])
  })

  test.each([-400 * DAY, -3_600, -31, 31, 3_600, 400 * DAY])(
    'by a process whose clock is %d s ahead is refused as an outage, and the code can still be exchanged',
    async (ahead) => {
      const issuedAt = later(ahead * 1_000)
      const accessToken = { hash: newHash(), expiresAt: later(ahead * 1_000 + HOUR / 2) }
      const exchange = exchangeOf(kit.owner, { tokens: { issuedAt, accessToken } })
      await expect(grants.storeExchange(exchange)).rejects.toThrow(StoreUnavailable)
      expect(await rowsOf('grants', exchange)).toEqual([])
      expect(await grants.storeExchange(again(exchange))).toEqual(STORED)
    }
  )

  test('stores all or nothing: an existing token hash rolls the grant back', async () => {
    const first = exchangeOf(kit.owner)
    await grants.storeExchange(first)
    const second = exchangeOf(kit.owner, { tokens: { accessToken: first.tokens.accessToken } })
    await expect(grants.storeExchange(second)).rejects.toThrow('duplicate key')
    expect(await rowsOf('grants', second)).toEqual([])
    expect(await grants.storeExchange(again(second))).toEqual(STORED)
  })
})

describe('concurrent exchanges', () => {
  test('share one statement, and each gets its own result and stores its own values', async () => {
    const used = exchangeOf(kit.owner)
    await grants.storeExchange(used)
    kit.sent.length = 0
    const odd = {
      allowed: { scope: ['files.read'] },
      binding: { audience: 'x, "y" {z} \\ NULL', codeChallenge: undefined }
    }
    const exchanges = kit.newExchanges(20, (index) => (index === 7 ? odd : {}))
    const stored = await Promise.all([...exchanges, again(used)].map(grants.storeExchange))
    expect(stored).toEqual([
      ...exchanges.map((_, index) => (index === 7 ? { scope: ['files.read'], ended: [] } : STORED)),
      undefined
    ])
    expect(kit.sent).toEqual(['store_exchange'])
    expect(await kit.tokensOf(exchanges)).toEqual({ access: 20, refresh: 20 })
    const hashes = await Promise.all(exchanges.map((exchange) => rowsOf('access_tokens', exchange)))
    expect(hashes.map(([row]) => row?.token_hash)).toEqual(exchanges.map(({ tokens }) => tokens.accessToken.hash))
    expect(await rowsOf('grants', exchanges[7] ?? used)).toMatchObject([
      { scope: ['files.read'], audience: odd.binding.audience, code_challenge: null, code_hash: exchanges[7]?.codeHash }
    ])
  })

  test('with tokens that expire in different hours use one statement for each table', async () => {
    const ends = [later(HOUR / 2), later(HOUR)]
    const exchanges = kit.newExchanges(6, (index) => endingAt(ends[index % 2] ?? now))
    expect(await Promise.all(exchanges.map(grants.storeExchange))).toEqual(exchanges.map(() => STORED))
    expect(kit.sent).toEqual(['store_exchange', 'store_exchange'])
    const text = `select tableoid::regclass::text as table, count(*)::integer from access_tokens
      where grant_id = any ($1) group by 1`
    const places = await kit.opened.run<{ table: string; count: number }>(text, [
      exchanges.map(({ grantId }) => grantId)
    ])
    expect(places.map(({ table, count }) => [table, count]).toSorted()).toEqual(
      ends.map((end) => [`access_tokens_${expiryBucket(end)}`, 3])
    )
  })

  test('of one code in one statement: only one stores tokens, and other codes of the statement succeed', async () => {
    const [twice, once] = [exchangeOf(kit.owner), exchangeOf(kit.owner)]
    const stored = await Promise.all([twice, again(twice), once].map(grants.storeExchange))
    expect([stored.slice(0, 2).filter(Boolean), stored[2]]).toEqual([[STORED], STORED])
    expect(await kit.tokensOf([twice])).toEqual({ access: 1, refresh: 1 })
    expect(await kit.tokensOf([once])).toEqual({ access: 1, refresh: 1 })
  })

  test('of one code in statements of two processes: one of 40 stores its tokens', async () => {
    const first = exchangeOf(kit.owner)
    const stores = [grants, await kit.startGrants()]
    const stored = await Promise.all(
      Array.from({ length: 40 }, (_, index) => stores[index % 2]?.storeExchange(again(first)))
    )
    expect(stored.filter(Boolean)).toHaveLength(1)
    expect(await kit.tokensOf([first])).toEqual({ access: 1, refresh: 1 })
  })

  test.each([
    { name: 'an invalid user id', bad: { allowed: { userId: 'unknown' } } },
    { name: 'a text that Postgres cannot store', bad: { binding: { redirectUri: 'a\0b' } } }
  ])('$name: only this exchange fails', async ({ bad }) => {
    const exchanges = kit.newExchanges(5, (index) => (index === 2 ? bad : {}))
    const settled = await Promise.allSettled(exchanges.map(grants.storeExchange))
    const outcomes = settled.map((each) => (each.status === 'fulfilled' ? each.value : each.status))
    expect(outcomes).toEqual([STORED, STORED, 'rejected', STORED, STORED])
    expect(await kit.tokensOf(exchanges)).toEqual({ access: 4, refresh: 4 })
  })

  test('a row that Postgres refuses: exchanges with tokens of another hour succeed', async () => {
    const exchanges = kit.newExchanges(4, (index) => ({
      ...endingAt(later(index < 2 ? HOUR / 2 : HOUR)),
      ...(index === 3 ? { allowed: { userId: 'unknown' } } : {})
    }))
    const settled = await Promise.allSettled(exchanges.map(grants.storeExchange))
    const outcomes = settled.map((each) => (each.status === 'fulfilled' ? each.value : each.status))
    expect(outcomes).toEqual([STORED, STORED, STORED, 'rejected'])
    expect(await kit.tokensOf(exchanges)).toEqual({ access: 3, refresh: 3 })
  })
})

test('exchanges, uses and endings lock grants in the same order: no deadlock', async () => {
  const other = connectPostgres(kit.opened.url, { connections: 10 })
  const apps = createConnectedAppStore(other)
  const deadlocks = () => kit.opened.run('select deadlocks from pg_stat_database where datname = current_database()')
  const before = await deadlocks()
  const generation = async () => {
    const text = 'select coalesce(max(generation), 0)::integer as generation from authorizations where user_id = $1'
    return (await kit.opened.run<{ generation: number }>(text, [kit.owner.userId]))[0]?.generation ?? 0
  }
  for (let round = 0; round < 20; round++) {
    const allowed = { authorizationGeneration: await generation() }
    const exchanges = kit.newExchanges(100, () => ({ allowed }))
    await Promise.all(exchanges.map(grants.storeExchange))
    const uses = exchanges.toReversed().map(({ grantId }) => [grantId, later(round)] as const)
    await Promise.all([
      // The same codes again, so that their statement meets the rows that the others lock.
      ...exchanges.map((exchange) => grants.storeExchange(again(exchange))),
      ...[0, 1, 2].map((third) => apps.noteUse(new Map([...uses.slice(third * 30), ...uses.slice(0, third * 30)]))),
      ...(round % 3 === 0 ? [apps.end(kit.owner.userId, kit.owner.clientId)] : [])
    ])
  }
  await other.close()
  await kit.opened.run('select pg_stat_force_next_flush()')
  expect(await deadlocks()).toEqual(before)
}, 30_000)
