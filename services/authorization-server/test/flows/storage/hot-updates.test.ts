import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { rotationOf } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

let opened: MigratedDatabase
/** One connection: it has the statistics of every statement, and can be made to publish them. */
let database: Database
let grants: StoredGrant[]
const now = new Date()
const after = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

beforeAll(async () => {
  opened = await createMigratedDatabase()
  database = connectWithoutLimits(opened.url, { connections: 1 })
  // More than fit on one page.
  const owner = await storeGrant(database, now)
  grants = [owner]
  while (grants.length < 100) grants.push(await storeGrant(database, now, owner))
})
beforeEach(async () => {
  await run('vacuum grants')
})
afterAll(async () => {
  await database.close()
  await opened.close()
})

const run = <Row extends Record<string, unknown>>(text: string) => database.query<Row>({ name: '', text, values: [] })

/** The first grant on each page: each full page holds one of them. */
async function onePerPage(): Promise<StoredGrant[]> {
  const rows = await run<{ grant_id: string }>(`select distinct on (page) grant_id
    from (select grant_id, ctid, (ctid::text::point)[0] as page from grants) as placed order by page, ctid`)
  expect(rows.length).toBeGreaterThan(2)
  const first = new Set(rows.map((row) => row.grant_id))
  return grants.filter(({ grantId }) => first.has(grantId))
}

/** How many rows of grants were updated meanwhile, and how many of those updates changed no index. */
async function updatesDuring(work: () => Promise<unknown>): Promise<{ updated: number; hot: number }> {
  const before = await updates()
  await work()
  const total = await updates()
  return { updated: total.updated - before.updated, hot: total.hot - before.hot }
}

async function updates(): Promise<{ updated: number; hot: number }> {
  await run('select pg_stat_force_next_flush()')
  const [row] = await run<{
    updated: number
    hot: number
  }>(`select n_tup_upd::integer as updated, n_tup_hot_upd::integer as hot
    from pg_stat_user_tables where relname = 'grants'`)
  return row ?? { updated: -1, hot: -1 }
}

test('a refresh updates its grant without index writes, also on full pages', async () => {
  const some = await onePerPage()
  const store = createRefreshTokenStore(database)
  const counted = await updatesDuring(async () => {
    for (const { refresh } of some) {
      const successor = { hash: newHash(), expiresAt: after(2_000) }
      const accessToken = { hash: newHash(), scope: ['files.read'], expiresAt: after(3_000) }
      const retry = { until: after(30), response: Buffer.from('response') }
      expect(await store.rotate(rotationOf(refresh.hash, { successor, accessToken, retry }), now)).toBe(true)
    }
  })
  expect(counted).toEqual({ updated: some.length, hot: some.length })
})

test('storing a use updates its grant without index writes, also on full pages', async () => {
  await run(`update grants set last_used_at = now() - interval '1 hour'`)
  await run('vacuum full grants')
  const some = await onePerPage()
  const uses = new Map(some.map(({ grantId }) => [grantId, now]))
  const counted = await updatesDuring(() => createConnectedAppStore(database).noteUse(uses))
  expect(counted).toEqual({ updated: some.length, hot: some.length })
})

test.each([
  { name: 'within a minute of the stored use is not written', seconds: 59, updated: 0 },
  { name: 'later is written', seconds: 61, updated: 100 }
])('a use $name, after an exchange or a refresh', async ({ seconds, updated }) => {
  await run(`update grants set last_used_at = '${after(-seconds).toISOString()}'`)
  const uses = new Map(grants.map(({ grantId }) => [grantId, now]))
  const counted = await updatesDuring(() => createConnectedAppStore(database).noteUse(uses))
  expect(counted).toMatchObject({ updated })
})
