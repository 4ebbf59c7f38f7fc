import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import pg from 'pg'
import { followAudit } from '../../../src/operator/cli/follow-audit.js'
import {
  type AuditEntryStore,
  type AuditFilter,
  createAuditEntryStore
} from '../../../src/storage/postgres/audit-entries.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'

let stores: MigratedDatabase

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
beforeEach(() => stores.run('truncate audit_events'))
afterAll(() => stores.close())

const INSERT = `insert into audit_events (occurred_at, event, details) select now(), $1, '{}' from generate_series(1, $2)`
const insert = (event: string, count = 1) => stores.run(INSERT, [event, count])

/** Follows while each of these happens between two looks, a second apart, and gives what was shown. */
async function follow(
  happenings: readonly (() => Promise<unknown>)[],
  {
    filter = {},
    entries = createAuditEntryStore(stores.database),
    showFirst = async () => []
  }: {
    filter?: AuditFilter
    entries?: Pick<AuditEntryStore, 'listFrom' | 'newestId'>
    showFirst?: () => Promise<readonly string[]>
  } = {}
) {
  const [shown, said]: [string[], string[]] = [[], []]
  let second = 0
  await followAudit(filter, showFirst, {
    entries,
    show: ({ event }) => shown.push(event),
    say: (text) => said.push(text),
    async wait() {
      const happening = happenings[second]
      second += 1
      await happening?.()
      return happening !== undefined
    },
    monotonicNow: () => second * 1_000
  })
  return { shown, said }
}

const nothing = async () => {}

test('each new event once, in order, and nothing of what was there', async () => {
  await insert('before', 3)
  const { shown } = await follow([() => insert('one'), nothing, () => insert('two', 2), nothing])
  expect(shown).toEqual(['one', 'two', 'two'])
})

test('what comes before the first are shown, and after they were read, is new', async () => {
  const entries = createAuditEntryStore(stores.database)
  await insert('there')
  const showFirst = async () => {
    await insert('in between')
    const ids = (await entries.list({}, { limit: 10 })).map(({ eventId }) => eventId)
    await insert('after')
    return ids
  }
  expect((await follow([nothing, nothing], { showFirst })).shown).toEqual(['after'])
})

test('of those that the filter lets through', async () => {
  const happenings = [() => insert('one'), () => insert('two'), () => insert('one')]
  expect((await follow(happenings, { filter: { event: 'one' } })).shown).toEqual(['one', 'one'])
})

test('more than fit into one look', async () => {
  expect((await follow([() => insert('many', 2_500), nothing])).shown).toHaveLength(2_500)
})

test('an event whose id is lower and that is committed later is not missed, whenever it began', async () => {
  const late = new pg.Client({ connectionString: stores.url })
  await late.connect()
  await late.query('begin')
  await late.query(INSERT, ['late', 1])
  await insert('early', 5)
  const { shown } = await follow([() => insert('new'), nothing, nothing, () => late.query('commit'), nothing])
  await late.end()
  expect(shown).toEqual(['new', 'late'])
})

test('what has been shown is not shown again, however long it goes on', async () => {
  const happenings = Array.from({ length: 30 }, (_, second) => () => insert(`at ${second}`))
  expect((await follow(happenings)).shown).toEqual(Array.from({ length: 30 }, (_, second) => `at ${second}`))
})

test('it looks back ten seconds and no further, however many there are', async () => {
  const real = createAuditEntryStore(stores.database)
  const asked: bigint[] = []
  const entries: typeof real = {
    ...real,
    listFrom(filter, page) {
      asked.push(BigInt(page.after))
      return real.listFrom(filter, page)
    }
  }
  const newest: bigint[] = []
  const happenings = Array.from({ length: 20 }, () => async () => {
    await insert('one')
    newest.push(BigInt(await real.newestId()))
  })
  await follow(happenings, { entries })
  // The look of each second comes after what happened in it; the first of all is that of the start.
  expect(asked.at(-1)).toBe(newest.at(-12))
})

test('while Postgres is away it waits, says so once, and misses nothing', async () => {
  const real = createAuditEntryStore(stores.database)
  let looks = 0
  const entries = {
    ...real,
    newestId: () => {
      looks += 1
      return looks === 3 || looks === 4 ? Promise.reject(new StoreUnavailable('postgres', undefined)) : real.newestId()
    }
  }
  const { shown, said } = await follow([() => insert('a'), () => insert('b'), () => insert('c'), nothing], { entries })
  expect([shown, said]).toEqual([['a', 'b', 'c'], [expect.stringMatching(/^postgres is unavailable; .*\n$/)]])
})
