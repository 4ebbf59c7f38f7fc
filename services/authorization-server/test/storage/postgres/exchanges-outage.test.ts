import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { type Database, StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import type { Exchange } from '../../../src/storage/postgres/exchanges.js'
import type { GrantStore } from '../../../src/storage/postgres/grants.js'
import { again, endingAt, later, now, prepareExchanges, STORED } from '../../support/exchanges.js'
import { stopMonotonicClock } from '../../support/stopped-timers.js'
import { HOUR } from '../../support/token-tables.js'
import { untilBlocked } from '../../support/until-blocked.js'

// A lost statement is sent again only if it was lost soon.
afterAll(stopMonotonicClock().restart)

let kit: Awaited<ReturnType<typeof prepareExchanges>>
let grants: GrantStore

beforeAll(async () => {
  kit = await prepareExchanges()
})
beforeEach(async () => {
  grants = await kit.startGrants()
})
afterAll(() => kit.opened.close())

/** Loses the given number of exchange statements, before they reach Postgres or after their commit. */
const losing = (times: number, when: 'before' | 'after') => (database: Database) => ({
  ...database,
  async query<Row extends object>(statement: Parameters<Database['query']>[0]) {
    if (times === 0 || !statement.name.startsWith('store_exchange')) return database.query<Row>(statement)
    times -= 1
    if (when === 'after') await database.query(statement)
    throw new StoreUnavailable('postgres', new Error('lost'))
  }
})

async function outcomesOf(store: GrantStore, exchanges: readonly Exchange[]) {
  const settled = await Promise.allSettled(exchanges.map(store.storeExchange))
  return settled.map((each) => {
    if (each.status === 'fulfilled') return each.value
    return each.reason instanceof StoreUnavailable ? 'unavailable' : 'failed'
  })
}

const undeliveredOf = async (exchanges: readonly Exchange[]) => {
  for (const { codeHash, grantId } of exchanges) await grants.discardUndelivered(codeHash, [grantId])
}

describe('the connection breaks', () => {
  test.each(['before', 'after'] as const)('%s the commit, once: sent again, and stored once', async (when) => {
    const exchanges = kit.newExchanges(10)
    const store = await kit.startGrants(losing(1, when))
    expect(await outcomesOf(store, exchanges)).toEqual(exchanges.map(() => STORED))
    expect(kit.sent).toEqual([
      ...Array(2).fill('store_exchange'),
      ...(when === 'after' ? ['find_stored_exchanges'] : [])
    ])
    expect(await kit.tokensOf(exchanges)).toEqual({ access: 10, refresh: 10 })
  })

  test.each(['before', 'after'] as const)('%s the commit, twice: unavailable, and no third attempt', async (when) => {
    const exchanges = kit.newExchanges(10)
    const store = await kit.startGrants(losing(2, when))
    expect(await outcomesOf(store, exchanges)).toEqual(exchanges.map(() => 'unavailable'))
    expect(kit.sent).toEqual(['store_exchange', 'store_exchange'])
    const stored = when === 'after' ? 10 : 0
    expect(await kit.tokensOf(exchanges)).toEqual({ access: stored, refresh: stored })
  })

  test.each(['before', 'after'] as const)('%s the commit: the next exchange stores its own tokens', async (when) => {
    const exchanges = kit.newExchanges(3)
    await outcomesOf(await kit.startGrants(losing(2, when)), exchanges)
    await undeliveredOf(exchanges)
    const retries = exchanges.map(again)
    expect(await outcomesOf(grants, retries)).toEqual([STORED, STORED, STORED])
    expect(await kit.tokensOf(exchanges)).toEqual({ access: 3, refresh: 3 })
    const text = 'select grant_id from grants where code_hash = any ($1)'
    const rows = await kit.opened.run<{ grant_id: string }>(text, [exchanges.map(({ codeHash }) => codeHash)])
    expect(rows.map(({ grant_id }) => grant_id).toSorted()).toEqual(retries.map(({ grantId }) => grantId).toSorted())
  })

  test('for the tokens of one hour: exchanges with tokens of another hour succeed', async () => {
    const lost = `store_exchange_in_access_tokens_${expiryBucket(later(HOUR))}`
    const store = await kit.startGrants((database) => ({
      ...database,
      query: async (statement) => {
        if (statement.name === lost) throw new StoreUnavailable('postgres', new Error('lost'))
        return database.query(statement)
      }
    }))
    const ends = [later(HOUR / 2), later(HOUR)]
    const exchanges = kit.newExchanges(4, (index) => endingAt(ends[index % 2] ?? now))
    expect(await outcomesOf(store, exchanges)).toEqual([STORED, 'unavailable', STORED, 'unavailable'])
    expect(await kit.tokensOf(exchanges)).toEqual({ access: 2, refresh: 2 })
  })
})

test('a retry waits for the earlier exchange that got 503, and replaces it', async () => {
  const [first] = kit.newExchanges(1)
  if (first === undefined) throw new Error('one exchange')
  const slow = new Client({ connectionString: kit.opened.url })
  await slow.connect()
  await slow.query('begin')
  await slow.query(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, newest_scope, created_at, redeemed_at, expires_at)
      values ($1, $2, $3, '{a}', 'x', 'y', $4, 0, $5, 1000, now(), now(), now() + interval '1 hour')`,
    [first.grantId, kit.owner.clientId, kit.owner.userId, first.codeHash, kit.owner.clientGeneration]
  )
  // The row is not visible yet, so nothing is discarded.
  await undeliveredOf([first])
  const retry = again(first)
  const storing = grants.storeExchange(retry)
  await untilBlocked(kit.opened.run)
  await slow.query('commit')
  await slow.end()
  expect(await storing).toBeUndefined()
  await undeliveredOf([first])
  expect(await grants.storeExchange(retry)).toEqual(STORED)
  expect(await grants.findByCode(first.codeHash)).toMatchObject({ grantId: retry.grantId })
})

test('a statement that Postgres terminates twice stores nothing', async () => {
  const exchanges = kit.newExchanges(3)
  const holder = new Client({ connectionString: kit.opened.url })
  await holder.connect()
  await holder.query('begin')
  await holder.query('lock table refresh_tokens')
  const storing = outcomesOf(grants, exchanges)
  const waiting = `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  for (let time = 0; time < 2; time++) {
    await untilBlocked(kit.opened.run)
    await kit.opened.run(waiting)
  }
  await holder.query('commit')
  await holder.end()
  expect(await storing).toEqual(['unavailable', 'unavailable', 'unavailable'])
  expect(await kit.tokensOf(exchanges)).toEqual({ access: 0, refresh: 0 })
})
