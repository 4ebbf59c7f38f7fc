import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database, Statement } from '@valetkey/service-kit'
import {
  createAppUseStore,
  deleteExpiredUses,
  deleteOldReports
} from '../../../../src/features/activity/app-use-store.js'
import { connectWithoutLimits } from '../../../support/connect-without-limits.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'
import { type StoredGrant, storeGrant } from '../../../support/stored-grant.js'
import { untilBlocked } from '../../../support/until-blocked.js'
import { newReportId } from '../support/reports.js'

const AUDIENCE = 'https://files.example'
const REPORTER = { clientId: 'files', audience: AUDIENCE }

let stores: MigratedDatabase
let grant: StoredGrant

beforeAll(async () => {
  stores = await createMigratedDatabase()
})
beforeEach(async () => {
  await stores.run('truncate app_uses, use_reports')
  grant = await storeGrant(stores.database, new Date())
})
afterAll(() => stores.close())

const use = (change: { grantId?: string; count?: number; lastAt?: Date } = {}) => ({
  grantId: grant.grantId,
  action: 'list_files',
  count: 1,
  lastAt: new Date(),
  ...change
})
const add = (uses: readonly ReturnType<typeof use>[], reportId = newReportId(), database = stores.database) =>
  createAppUseStore(database).add({ reportId, uses }, REPORTER, AUDIENCE)
const list = () => createAppUseStore(stores.database).list(grant.userId)
const ofDaysAgo = (days: number, items: number) =>
  stores.run(
    `insert into app_uses (user_id, client_id, api_id, action, day, items, last_at)
      select $1, $2, api_id, 'list_files', (now() at time zone 'UTC')::date - $3::int, $4, now() - make_interval(days => $3::int)
      from api_actions where audience is null`,
    [grant.userId, grant.clientId, days, items]
  )
const ageClient = () =>
  stores.run("update clients set created_at = now() - interval '1 year' where client_id = $1", [grant.clientId])

describe('uses of apps in Postgres', () => {
  test('are listed with their sum, the last use, and the newest three days that have items', async () => {
    await ageClient()
    for (const [days, items] of [
      [80, 1],
      [9, 10],
      [5, 100],
      [3, 1_000],
      [2, 0]
    ] as const)
      await ofDaysAgo(days, items)
    await add([use({ count: 10_000 })])
    const [listed, ...others] = await list()
    expect(others).toEqual([])
    expect(listed).toMatchObject({ clientId: grant.clientId, title: 'Listed files', total: 11_111 })
    expect(listed?.translations.de).toBe('Dateien aufgelistet')
    expect(listed?.days.map(({ count }) => count)).toEqual([10_000, 1_000, 100])
    const [first, second] = listed?.days ?? []
    expect(Number(first?.day) - Number(second?.day)).toBe(3 * 86_400_000)
  })

  test('without items have a last use and no days', async () => {
    await add([use({ count: 0 })])
    expect(await list()).toMatchObject([{ total: 0, days: [] }])
  })

  test('stay below the largest whole number of JSON', async () => {
    await ofDaysAgo(0, Number.MAX_SAFE_INTEGER)
    await add([use({ count: 1_000_000_000 })])
    expect(await list()).toMatchObject([{ total: Number.MAX_SAFE_INTEGER }])
  })

  test('of an earlier client with the same id are not listed', async () => {
    await ofDaysAgo(1, 5)
    expect(await list()).toEqual([])
    await ageClient()
    expect(await list()).toMatchObject([{ total: 5 }])
  })

  test('count by their own day if the report comes after midnight', async () => {
    const anHourAgo = new Date(Date.now() - 3_590_000)
    await add([use({ lastAt: anHourAgo })])
    const rows = await stores.run('select day::text as day from app_uses')
    expect(rows).toEqual([{ day: anHourAgo.toISOString().slice(0, 10) }])
  })

  test('of reports in parallel, in any order of rows, are all added', async () => {
    const grants = [grant, ...(await Promise.all([1, 2, 3].map(() => storeGrant(stores.database, new Date()))))]
    const uses = grants.map(({ grantId }) => use({ grantId, count: 5 }))
    const orders = [uses, [...uses].reverse()]
    await Promise.all(Array.from({ length: 20 }, (_, index) => add(orders[index % 2] ?? [])))
    expect(await stores.run('select items::int as items from app_uses')).toEqual(Array(4).fill({ items: 100 }))
  })

  test('count once if the first statement commits after the second began', async () => {
    const reportId = newReportId()
    const first = connectWithoutLimits(stores.url, { connections: 1 })
    try {
      await first.query({ name: '', text: 'begin', values: [] })
      expect((await add([use()], reportId, first)).isFirst).toBe(true)
      const second = add([use()], reportId)
      await untilBlocked((text) => stores.run(text))
      await first.query({ name: '', text: 'commit', values: [] })
      expect((await second).isFirst).toBe(false)
      expect(await list()).toMatchObject([{ total: 1 }])
    } finally {
      await first.close()
    }
  })

  test('count if the first statement was rolled back', async () => {
    const reportId = newReportId()
    const first = connectWithoutLimits(stores.url, { connections: 1 })
    try {
      await first.query({ name: '', text: 'begin', values: [] })
      await add([use()], reportId, first)
      const second = add([use()], reportId)
      await untilBlocked((text) => stores.run(text))
      await first.query({ name: '', text: 'rollback', values: [] })
      expect((await second).isFirst).toBe(true)
      expect(await list()).toMatchObject([{ total: 1 }])
    } finally {
      await first.close()
    }
  })

  test('are deleted with the user, and not shown without the client', async () => {
    await add([use()])
    await stores.run('delete from clients where client_id = $1', [grant.clientId])
    expect(await list()).toEqual([])
    await stores.run('delete from users where user_id = $1', [grant.userId])
    expect(await stores.run('select 1 from app_uses')).toEqual([])
  })

  test('after 90 days are not listed, and housekeeping deletes them', async () => {
    await ageClient()
    await ofDaysAgo(90, 1)
    await ofDaysAgo(89, 2)
    expect(await list()).toMatchObject([{ total: 2 }])
    expect(await deleteExpiredUses(stores.database)).toBe(false)
    expect(await stores.run('select items::int as items from app_uses')).toEqual([{ items: 2 }])
  })

  test('ids of reports are deleted after two hours, when their uses are too late', async () => {
    await add([use()])
    await stores.run("update use_reports set received_at = now() - interval '119 minutes'")
    await deleteOldReports(stores.database)
    expect(await stores.run('select 1 from use_reports')).toHaveLength(1)
    await stores.run("update use_reports set received_at = now() - interval '121 minutes'")
    await deleteOldReports(stores.database)
    expect(await stores.run('select 1 from use_reports')).toEqual([])
  })

  test.each([
    { name: 'a negative sum', text: 'update app_uses set items = -1' },
    { name: 'a long action', text: "update app_uses set action = repeat('a', 65)" },
    { name: 'a long report id', text: "update use_reports set report_id = repeat('a', 65)" },
    { name: 'actions that are no object', text: "update api_actions set actions = '[]'" },
    { name: 'two rows for an API', text: `insert into api_actions (audience, actions) values ('a', '{}'), ('a', '{}')` }
  ])('Postgres refuses $name', async ({ text }) => {
    await add([use()])
    await expect(stores.run(text)).rejects.toThrow(/violates/)
  })
})

describe('statements about uses of apps', () => {
  const sent: Statement[] = []
  const noting = (): Database => ({
    ...stores.database,
    query(statement) {
      sent.push(statement)
      return stores.database.query(statement)
    }
  })

  async function planOf(run: (database: Database) => Promise<unknown>): Promise<string> {
    sent.length = 0
    await run(noting())
    const session = connectWithoutLimits(stores.url, { connections: 1, plans: 'kept by index' })
    try {
      const rows = await session.query({ name: '', text: `explain (generic_plan) ${sent[0]?.text}`, values: [] })
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    } finally {
      await session.close()
    }
  }

  test('use indexes', async () => {
    expect(await planOf(deleteExpiredUses)).toContain('using app_uses_day')
    expect(await planOf(deleteOldReports)).toContain('using use_reports_received_at')
    const listing = await planOf((database) => createAppUseStore(database).list(randomUUID()))
    expect(listing).toMatch(/app_uses_pkey/)
    const adding = await planOf((database) => add([use()], undefined, database))
    expect(adding).toMatch(/grants_pkey/)
    expect(adding).not.toMatch(/Seq Scan on (?:grants|app_uses|use_reports)/)
  })

  test('update a sum without writing an index', async () => {
    await add([use()])
    const text = `select n_tup_hot_upd::int as hot, n_tup_upd::int as updates from pg_stat_xact_user_tables where relname = 'app_uses'`
    const session = connectWithoutLimits(stores.url, { connections: 1 })
    try {
      await session.query({ name: '', text: 'begin', values: [] })
      await add([use()], undefined, session)
      expect(await session.query({ name: '', text, values: [] })).toEqual([{ hot: 1, updates: 1 }])
      await session.query({ name: '', text: 'commit', values: [] })
    } finally {
      await session.close()
    }
  })
})
