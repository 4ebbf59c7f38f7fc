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

/** Runs one step between two polls, a second apart, and returns the shown events. */
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

test('shows each new event once, in order, and no earlier event', async () => {
  await insert('before', 3)
  const { shown } = await follow([() => insert('one'), nothing, () => insert('two', 2), nothing])
  expect(shown).toEqual(['one', 'two', 'two'])
})

test('shows an event that is written between the first query and the first output', async () => {
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

test('shows only events that match the filter', async () => {
  const happenings = [() => insert('one'), () => insert('two'), () => insert('one')]
  expect((await follow(happenings, { filter: { event: 'one' } })).shown).toEqual(['one', 'one'])
})

test('shows more events than one query returns', async () => {
  expect((await follow([() => insert('many', 2_500), nothing])).shown).toHaveLength(2_500)
})

test('shows an event with a lower id that is committed later', async () => {
  const late = new pg.Client({ connectionString: stores.url })
  await late.connect()
  await late.query('begin')
  await late.query(INSERT, ['late', 1])
  await insert('early', 5)
  const { shown } = await follow([() => insert('new'), nothing, nothing, () => late.query('commit'), nothing])
  await late.end()
  expect(shown).toEqual(['new', 'late'])
})

test('shows no event twice, however long it runs', async () => {
  const happenings = Array.from({ length: 30 }, (_, second) => () => insert(`at ${second}`))
  expect((await follow(happenings)).shown).toEqual(Array.from({ length: 30 }, (_, second) => `at ${second}`))
})

test('queries the last ten seconds only, however many events there are', async () => {
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
  // Each poll comes after the step of its second; the first poll is at the start.
  expect(asked.at(-1)).toBe(newest.at(-12))
})

test('while Postgres is unavailable it waits, reports it once, and misses no event', async () => {
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
