import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import type { Exchange } from '../../../src/storage/postgres/exchanges.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import type { GrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { NOTE } from '../../support/audit-note.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { again, endingAt, exchangeOf, later, now, prepareExchanges, STORED } from '../../support/exchanges.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'
import { HOUR } from '../../support/token-tables.js'

let kit: Awaited<ReturnType<typeof prepareExchanges>>

beforeAll(async () => {
  kit = await prepareExchanges()
})
afterAll(() => kit.opened.close())

describe('exchanges', () => {
  const DAY = 86_400
  let grants: GrantStore
  beforeEach(async () => {
    grants = await kit.startGrants()
  })

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
          ends_at: null,
          expires_at: later(HOUR),
          authenticated_at: null,
          dpop_jkt: null,
          jkt: null,
          requires_key: null,
          authorization_details: null
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
          revoked_at: null,
          jkt: null
        }
      ])
      const ofRefreshToken = { ...shared, token_hash: refreshToken?.hash, expires_at: later(HOUR), rotated_at: null }
      expect(await rowsOf('refresh_tokens', exchange)).toMatchObject([ofRefreshToken])
    })

    test('stores what the user chose at the API (RFC 9396 §2)', async () => {
      const authorizationDetails = [{ type: 'files', identifier: 'sel_1', summary: '12 “photos”' }]
      const exchange = exchangeOf(kit.owner)
      await grants.storeExchange({ ...exchange, allowed: { ...exchange.allowed, authorizationDetails } })
      expect(await rowsOf('grants', exchange)).toMatchObject([{ authorization_details: authorizationDetails }])
    })

    test.each([
      { name: 'the refresh token expires later', access: 100, refresh: 1_000, expires: 1_000 },
      { name: 'the access token expires later', access: 2_000, refresh: 1_000, expires: 2_000 },
      { name: 'there is no refresh token', access: 100, refresh: undefined, expires: 100 }
    ])('the expiry of the row is that of its last token: $name', async ({ access, refresh, expires }) => {
      const exchange = exchangeOf(kit.owner, {
        tokens: {
          ...endingAt(later(access * 1_000)).tokens,
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
      expect((await rowsOf('access_tokens', first)).map((row) => row.token_hash)).toEqual([
        first.tokens.accessToken.hash
      ])
      expect(await rowsOf('access_tokens', second)).toEqual([])
      expect(await rowsOf('refresh_tokens', second)).toEqual([])
    })

    test.each([-400 * DAY, -3_600, -31, 31, 3_600, 400 * DAY])(
      'by a process whose clock is %d s ahead is refused as an outage, and the code can still be exchanged',
      async (ahead) => {
        const issuedAt = later(ahead * 1_000)
        const { accessToken } = endingAt(later(ahead * 1_000 + HOUR / 2)).tokens
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
        {
          scope: ['files.read'],
          audience: odd.binding.audience,
          code_challenge: null,
          code_hash: exchanges[7]?.codeHash
        }
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
    const other = connectWithoutLimits(kit.opened.url, { connections: 10 })
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
  })
})

describe('after endings', () => {
  let grants: GrantStore
  let owner: StoredGrant
  let exchange: Exchange

  beforeAll(async () => {
    grants = await kit.startGrants()
  })
  beforeEach(async () => {
    // A separate user and client.
    owner = await storeGrant(kit.opened.database, now)
    exchange = exchangeOf(owner)
  })

  const apps = () => createConnectedAppStore(kit.opened.database)
  const access = () => createGrantedAccessStore(kit.opened.database)
  const run = (text: string, id: string) => kit.opened.run(text, [id])

  const isAlive = async ({ tokens } = exchange) =>
    (await findLiveAccessToken(kit.opened.database, tokens.accessToken.hash, later(1_000))) !== undefined

  type Ending = { name: string; end(): Promise<unknown> }

  const OF_THE_PAIR: Ending[] = [
    { name: 'the user ended the access of the app', end: () => apps().end(owner.userId, owner.clientId) },
    {
      name: 'an operator ended the grants of the user to the client',
      end: () => access().endOfUser({ userId: owner.userId, clientId: owner.clientId }, NOTE)
    }
  ]
  const OF_MORE: Ending[] = [
    {
      name: 'an operator ended the grants of the user',
      end: () => access().endOfUser({ userId: owner.userId, clientId: undefined }, NOTE)
    },
    { name: 'an operator ended the grants to the client', end: () => access().endToClient(owner.clientId, NOTE) },
    {
      name: 'the user was disabled',
      end: () =>
        run('update users set disabled_at = now(), generation = generation + 1 where user_id = $1', owner.userId)
    },
    {
      name: 'the client was disabled',
      end: () =>
        run('update clients set disabled_at = now(), generation = generation + 1 where client_id = $1', owner.clientId)
    },
    { name: 'the user was deleted', end: () => run('delete from users where user_id = $1', owner.userId) },
    { name: 'the client was deleted', end: () => run('delete from clients where client_id = $1', owner.clientId) },
    {
      name: 'a generation became lower: only equal generations are valid',
      end: () => run('update users set authorization_generation = -1 where user_id = $1', owner.userId)
    }
  ]

  describe('access ended between Allow and the exchange', () => {
    test.each([...OF_THE_PAIR, ...OF_MORE])('$name: nothing is stored', async ({ end }) => {
      await end()
      expect(await grants.storeExchange(exchange)).toBeUndefined()
      expect(await grants.findByCode(exchange.codeHash)).toBeUndefined()
      expect(await kit.opened.run('select 1 from access_tokens where grant_id = $1', [exchange.grantId])).toEqual([])
    })

    test.each(OF_THE_PAIR)('$name, for the second time: nothing is stored', async ({ end }) => {
      await rememberConsent(kit.opened.database, { ...owner, audience: 'https://files.example' }, ['a'])
      await end()
      const between = exchangeOf(owner, { allowed: { authorizationGeneration: 1 } })
      await end()
      expect(await grants.storeExchange(between)).toBeUndefined()
      const after = exchangeOf(owner, { allowed: { authorizationGeneration: 2 } })
      expect(await grants.storeExchange(after)).toEqual(STORED)
      expect(await isAlive(after)).toBe(true)
    })

    test.each(OF_THE_PAIR)(
      '$name: other clients of the user and other users of the client can exchange',
      async (row) => {
        const [otherClient, otherUser] = [
          await storeGrant(kit.opened.database, now, { userId: owner.userId }),
          await storeGrant(kit.opened.database, now, { clientId: owner.clientId })
        ]
        await row.end()
        const others = [otherClient, otherUser].map((other) => exchangeOf(other))
        expect(await Promise.all(others.map(grants.storeExchange))).toEqual([STORED, STORED])
        expect(await Promise.all(others.map(isAlive))).toEqual([true, true])
      }
    )

    test('exchanges in one statement are accepted and refused independently', async () => {
      const gone = await storeGrant(kit.opened.database, now)
      await apps().end(gone.userId, gone.clientId)
      const exchanges = [
        exchange,
        exchangeOf(gone),
        exchangeOf(owner, { allowed: { userGeneration: 1 } }),
        exchangeOf(owner, { allowed: { clientGeneration: 1 } }),
        exchangeOf(owner, { allowed: { authorizationGeneration: 1 } }),
        exchangeOf(gone, { allowed: { authorizationGeneration: 1 } })
      ]
      const stored = await Promise.all(exchanges.map(grants.storeExchange))
      expect(stored).toEqual([STORED, undefined, undefined, undefined, undefined, STORED])
    })
  })

  describe('access ended concurrently with the exchange, which does not see the change', () => {
    const STATEMENTS = [
      {
        name: 'the authorization ends for the first time',
        text: 'insert into authorizations (user_id, client_id, generation) values ($1, $2, 1)'
      },
      {
        name: 'all authorizations of the user end',
        text: `update users set authorization_generation = authorization_generation + 1 where user_id = $1 and $2 <> ''`
      },
      { name: 'the user ends', text: `update users set generation = generation + 1 where user_id = $1 and $2 <> ''` },
      {
        name: 'the client ends',
        text: 'update clients set generation = generation + 1 where client_id = $2 and $1::uuid is not null'
      }
    ]

    test.each(STATEMENTS)('$name: the new tokens end with its commit', async ({ text }) => {
      const operator = new Client({ connectionString: kit.opened.url })
      await operator.connect()
      await operator.query('begin')
      await operator.query(text, [owner.userId, owner.clientId])
      expect(await grants.storeExchange(exchange)).toEqual(STORED)
      expect(await isAlive()).toBe(true)
      await operator.query('commit')
      await operator.end()
      expect(await isAlive()).toBe(false)
      const refresh = exchange.tokens.refreshToken?.hash ?? newHash()
      expect(await createRefreshTokenStore(kit.opened.database).find(refresh)).toMatchObject({ ended: true })
      expect(await access().list({ userId: owner.userId }, { limit: 10 })).toEqual([])
      expect((await apps().list(owner.userId)).filter(({ live }) => live)).toEqual([])
    })

    test.each([...OF_THE_PAIR, ...OF_MORE])('$name, 20 rounds: no token stays active', async ({ end }) => {
      const exchanges = Array.from({ length: 20 }, () => exchangeOf(owner))
      const [before, beside] = [exchanges.slice(0, 10), exchanges.slice(10)]
      await Promise.all([...before.map(grants.storeExchange), end(), ...beside.map(grants.storeExchange)])
      expect(await Promise.all(exchanges.map(isAlive))).toEqual(exchanges.map(() => false))
    })
  })
})
