import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Client } from 'pg'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import type { Exchange } from '../../../src/storage/postgres/exchanges.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import type { GrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { NOTE } from '../../support/audit-note.js'
import { exchangeOf, later, now, prepareExchanges, STORED } from '../../support/exchanges.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let kit: Awaited<ReturnType<typeof prepareExchanges>>
let grants: GrantStore
let owner: StoredGrant
let exchange: Exchange

beforeAll(async () => {
  kit = await prepareExchanges()
  grants = await kit.startGrants()
})
beforeEach(async () => {
  // A separate user and client.
  owner = await storeGrant(kit.opened.database, now)
  exchange = exchangeOf(owner)
})
afterAll(() => kit.opened.close())

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
    end: () => run('update users set disabled_at = now(), generation = generation + 1 where user_id = $1', owner.userId)
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

  test.each(OF_THE_PAIR)('$name: other clients of the user and other users of the client can exchange', async (row) => {
    const [otherClient, otherUser] = [
      await storeGrant(kit.opened.database, now, { userId: owner.userId }),
      await storeGrant(kit.opened.database, now, { clientId: owner.clientId })
    ]
    await row.end()
    const others = [otherClient, otherUser].map((other) => exchangeOf(other))
    expect(await Promise.all(others.map(grants.storeExchange))).toEqual([STORED, STORED])
    expect(await Promise.all(others.map(isAlive))).toEqual([true, true])
  })

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
