import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import { connectPostgres, type Database, StoreUnavailable } from '@valetkey/service-kit'
import { Client } from 'pg'
import { createAccessTokenBuckets } from '../../src/storage/access-token-buckets.js'
import { createConnectedAppStore } from '../../src/storage/connected-apps.js'
import { createGrantStore, type FirstTokens, type GrantStore } from '../../src/storage/grants.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'
import { newDigest, type StoredGrant, storeGrant } from '../support/stored-grant.js'
import { HOUR } from '../support/token-tables.js'

const now = new Date(Math.floor(Date.now() / HOUR) * HOUR)
const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)

let opened: MigratedDatabase
let owner: StoredGrant
let sent: string[]
let grants: GrantStore

beforeAll(async () => {
  opened = await createMigratedDatabase()
  owner = await storeGrant(opened.database, now)
})
beforeEach(async () => {
  grants = await startGrants()
})
afterAll(() => opened.close())

/** The store of a process that has started; `wrap` comes between it and its database. */
async function startGrants(wrap = (database: Database): Database => database): Promise<GrantStore> {
  const wrapped = wrap(opened.database)
  const database: Database = {
    ...wrapped,
    query(statement) {
      sent.push(statement.name.replace(/_in_.*/, ''))
      return wrapped.query(statement)
    }
  }
  sent = []
  const buckets = createAccessTokenBuckets(database)
  await buckets.keep(now, 1_800)
  sent = []
  return createGrantStore(database, buckets)
}

const tokens = (expiresAt = later(HOUR / 2), tokenId: string = randomUUID()): FirstTokens => ({
  accessToken: { digest: newDigest(), tokenId, expiresAt },
  refreshToken: { digest: newDigest(), expiresAt: later(HOUR) },
  refreshableUntil: later(HOUR)
})

async function openGrants(count: number) {
  const all = Array.from({ length: count }, () => ({ grantId: randomUUID(), codeDigest: newDigest() }))
  await opened.run(
    `insert into grants (grant_id, code_hash, client_id, user_id, scope, audience, redirect_uri, user_generation,
        client_generation, created_at, expires_at)
      select *, $3, $4, '{files.read}', 'https://files.example', 'https://app.example/callback', 0, 0, now(), $5
      from unnest($1::uuid[], $2::bytea[])`,
    [
      all.map(({ grantId }) => grantId),
      all.map(({ codeDigest }) => codeDigest),
      owner.clientId,
      owner.userId,
      later(HOUR)
    ]
  )
  return all
}

const tokensOf = async (opens: readonly { grantId: string }[]) => {
  const text = `select (select count(*)::integer from access_tokens where grant_id = any ($1)) as access,
    (select count(*)::integer from refresh_tokens where grant_id = any ($1)) as refresh`
  return (await opened.run(text, [opens.map(({ grantId }) => grantId)]))[0]
}

const WON = { scope: ['files.read'], userId: expect.any(String) }

describe('redemptions at the same time', () => {
  test('share one statement, and each has its own answer', async () => {
    const open = await openGrants(20)
    const unknown = grants.redeem(newDigest(), tokens(), now)
    const redeemed = await Promise.all(open.map(({ codeDigest }) => grants.redeem(codeDigest, tokens(), now)))
    expect(redeemed).toEqual(open.map(() => ({ ...WON, userId: owner.userId })))
    expect(await unknown).toBeUndefined()
    expect(sent).toEqual(['redeem_grant', 'find_own_redemptions'])
    expect(await tokensOf(open)).toEqual({ access: 20, refresh: 20 })
  })

  test('whose tokens end in different hours: a statement for each table', async () => {
    const open = await openGrants(6)
    const ends = [later(HOUR / 2), later(HOUR)]
    await Promise.all(open.map(({ codeDigest }, index) => grants.redeem(codeDigest, tokens(ends[index % 2]), now)))
    expect(sent).toEqual(['redeem_grant', 'redeem_grant'])
    const text =
      'select tableoid::regclass::text as table, count(*)::integer from access_tokens where grant_id = any ($1) group by 1'
    const places = await opened.run<{ table: string; count: number }>(text, [open.map(({ grantId }) => grantId)])
    expect(places.map(({ table, count }) => [table, count]).toSorted()).toEqual(
      ends.map((end) => [`access_tokens_${expiryBucket(end)}`, 3])
    )
  })

  test('one code many times, in one statement and in those of two processes: one wins', async () => {
    const [open] = await openGrants(1)
    if (open === undefined) throw new Error('no grant')
    const stores = [grants, await startGrants()]
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => stores[index % 2]?.redeem(open.codeDigest, tokens(), now))
    )
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1)
    expect(await tokensOf([open])).toEqual({ access: 1, refresh: 1 })
  })

  test('a row that Postgres refuses fails alone', async () => {
    const open = await openGrants(5)
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
    expect(await tokensOf(open)).toEqual({ access: 4, refresh: 4 })
  })

  test('a refused row in one hour does not cost those of another hour what they have won', async () => {
    const open = await openGrants(4)
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
    expect(await tokensOf(open)).toEqual({ access: 3, refresh: 3 })
  })
})

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
    const open = await openGrants(10)
    const store = await startGrants(losing(1, when))
    const redeemed = await Promise.all(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(), now)))
    expect(redeemed).toEqual(open.map(() => WON))
    expect(await tokensOf(open)).toEqual({ access: 10, refresh: 10 })
  })

  test('after the commit of a batch that lost a code to somebody else: that one stays lost', async () => {
    const open = await openGrants(3)
    await grants.redeem(open[1]?.codeDigest ?? newDigest(), tokens(), now)
    const store = await startGrants(losing(1, 'after'))
    const redeemed = await Promise.all(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(), now)))
    expect(redeemed).toEqual([WON, undefined, WON])
  })

  test('after the commit, where there was no table for the tokens, and is one now: they are found where they lie', async () => {
    const open = await openGrants(3)
    const expiresAt = later(40 * HOUR)
    let heldUp = 1
    const store = await startGrants((database) => {
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
    expect(await tokensOf(open)).toEqual({ access: 3, refresh: 3 })
  })

  test('twice: everyone is told, and nothing is sent a third time', async () => {
    const open = await openGrants(3)
    const store = await startGrants(losing(2, 'before'))
    const settled = await Promise.allSettled(open.map(({ codeDigest }) => store.redeem(codeDigest, tokens(), now)))
    for (const each of settled) expect(each).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) })
    expect(sent).toEqual(['redeem_grant', 'redeem_grant'])
  })

  test('within the statement, by the server: sent again', async () => {
    const open = await openGrants(3)
    const holder = new Client({ connectionString: opened.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select 1 from grants where grant_id = $1 for update', [open[0]?.grantId])
    const redeeming = Promise.all(open.map(({ codeDigest }) => grants.redeem(codeDigest, tokens(), now)))
    const waiting = `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    while ((await opened.run(waiting)).length === 0);
    await holder.query('commit')
    await holder.end()
    expect(await redeeming).toEqual(open.map(() => WON))
    expect(await tokensOf(open)).toEqual({ access: 3, refresh: 3 })
  })
})

test('whoever locks many grants does so in one order: no deadlock between exchanges, notes of use and endings', async () => {
  const other = connectPostgres(opened.url, { connections: 10 })
  const apps = createConnectedAppStore(other)
  const deadlocks = () => opened.run('select deadlocks from pg_stat_database where datname = current_database()')
  const before = await deadlocks()
  for (let round = 0; round < 30; round++) {
    const open = await openGrants(100)
    const uses = open.toReversed().map(({ grantId }) => [grantId, later(round)] as const)
    const [redeemed] = await Promise.all([
      Promise.all(open.map(({ codeDigest }) => grants.redeem(codeDigest, tokens(), now))),
      ...[0, 1, 2].map((rotation) =>
        apps.noteUse(new Map([...uses.slice(rotation * 30), ...uses.slice(0, rotation * 30)]))
      ),
      ...(round % 3 === 0 ? [apps.end(owner.userId, owner.clientId, now)] : [])
    ])
    expect(redeemed.filter((each) => each === undefined)).toEqual([])
  }
  await other.close()
  await opened.run('select pg_stat_force_next_flush()')
  expect(await deadlocks()).toEqual(before)
}, 30_000)
