import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expiryBucket } from '@valetkey/oauth-protocol'
import type { Database, Statement } from '@valetkey/service-kit'
import { hashId, newRandomId } from '../../../src/browser/session/random-id.js'
import { createAccessTokenBuckets } from '../../../src/storage/postgres/access-token-buckets.js'
import { createAccessTokenStore } from '../../../src/storage/postgres/access-tokens.js'
import { createAllowanceStore } from '../../../src/storage/postgres/allowances.js'
import { createAuditEntryStore } from '../../../src/storage/postgres/audit-entries.js'
import { createAuditEventStore } from '../../../src/storage/postgres/audit-events.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import { createGrantedAudiences } from '../../../src/storage/postgres/granted-audiences.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createIntrospectionStore } from '../../../src/storage/postgres/introspections.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { createResourceServerStore } from '../../../src/storage/postgres/resource-servers.js'
import { createSessionStore } from '../../../src/storage/postgres/sessions.js'
import { NOTE } from '../../support/audit-note.js'
import { connectWithoutLimits } from '../../support/connect-without-limits.js'
import { exchangeOf } from '../../support/exchanges.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { PACE, rotationOf } from '../../support/rotation.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

const now = new Date()
let opened: MigratedDatabase

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
afterAll(() => opened.close())

describe('kept plans', () => {
  const bucketsAt = new Date(now.getTime() + 3_600_000)
  /** The session has the connection options of the service. */
  let session: Database
  const sent: Statement[] = []

  beforeAll(async () => {
    session = connectWithoutLimits(opened.url, { connections: 1, plans: 'kept by index' })
    const database: Database = {
      ...opened.database,
      query(statement) {
        sent.push(statement)
        return opened.database.query(statement)
      }
    }
    const buckets = createAccessTokenBuckets(database)
    await buckets.keep(3_600)
    sent.length = 0
    const refreshTokens = createRefreshTokenStore(database, buckets)
    const apps = createConnectedAppStore(database)
    const token = { hash: newHash(), bucket: expiryBucket(bucketsAt) }
    const accessToken = { ...token, scope: ['files.read'], expiresAt: bucketsAt }
    await createIntrospectionStore(database, buckets).find(token)
    await createAccessTokenStore(database, buckets).revoke(token, 'client')
    const grants = createGrantStore(database, buckets)
    const exchange = exchangeOf(
      { clientId: 'client', userId: randomUUID() },
      { tokens: { issuedAt: now, accessToken } }
    )
    await grants.storeExchange(exchange)
    await grants.findByCode(newHash())
    await grants.discardUndelivered(newHash(), [randomUUID()])
    await grants.endReplayed(newHash())
    const sessionHash = hashId(newRandomId())
    await createAllowanceStore(database).read({ sessionHash, clientId: 'client', audience: 'https://files.example' })
    const sessions = createSessionStore(database, () => false)
    await sessions.find(sessionHash)
    await sessions.list(randomUUID())
    await sessions.close(sessionHash)
    await sessions.noteUse(new Map([[sessionHash, now]]))
    await grants.end(randomUUID())
    await refreshTokens.find(newHash())
    await refreshTokens.endGrant(newHash(), 'client')
    const successor = { hash: newHash(), expiresAt: bucketsAt }
    const rotation = { hash: newHash(), successor, accessToken, retry: undefined, retryScope: '', pace: PACE }
    await refreshTokens.rotate(rotation, now)
    await apps.noteUse(new Map([[randomUUID(), now]]))
    await createResourceServerStore(database).noteUse(new Map([['client', now]]))
    await apps.end(randomUUID(), 'client')
    await apps.list(randomUUID())
    await apps.findNameOfAllowed(randomUUID(), 'client')
    const expiredRows = createExpiredRows(database, { auditRetentionDays: 1 })
    await expiredRows.deleteSome()
    await expiredRows.eraseSomeRetryResponses()
    const granted = createGrantedAccessStore(database)
    const place = { userId: randomUUID(), clientId: 'client', grantId: randomUUID() }
    for (const filter of [{}, { userId: place.userId }, { clientId: place.clientId }, place]) {
      await granted.list(filter, { limit: 10 })
      await granted.list(filter, { after: place, limit: 10 })
    }
    await granted.end(place.grantId, NOTE)
    const holders = [{ member: 'sub', value: place.userId } as const, { member: 'client_id', value: 'client' } as const]
    await createGrantedAudiences(database).find(holders, ['https://files.example'])
    await granted.endOfUser({ userId: place.userId, clientId: undefined }, NOTE)
    await granted.endOfUser(place, NOTE)
    await createConsentStore(database).deleteOfClient('client')
    await createAuditEventStore(database).appendMissing([])
    const entries = createAuditEntryStore(database)
    await entries.list({ since: now }, { after: '1', limit: 10 })
    await entries.list({ userId: place.userId }, { limit: 10 })
    await entries.listFrom({ event: 'code_issued' }, { after: '1', limit: 10 })
    await entries.newestId()
  })
  afterAll(async () => {
    await session.close()
  })

  test('cached plans made for empty tables use indexes in every statement', async () => {
    expect(await strayLines(sent, /(Seq|Bitmap Heap) Scan on|Hash Join|Merge Join/)).toEqual([])
    expect(sent.length).toBeGreaterThan(14)
  })

  test('every statement name has one text: a connection prepares the first and refuses another', () => {
    const texts = new Map(sent.map(({ name, text }) => [name, text]))
    expect(sent.filter(({ name, text }) => name === '' || texts.get(name) !== text)).toEqual([])
  })

  test('storing thousands of uses does not compare each with all others', async () => {
    const noting = sent.filter(({ name }) => ['note_grant_use', 'note_resource_server_use'].includes(name))
    expect(noting).toHaveLength(2)
    expect(await strayLines(noting, /Join Filter/)).toEqual([])
  })

  test('finding granted audiences needs one index lookup for each user or client and audience', async () => {
    const text = sent.find(({ name }) => name === 'find_granted_audiences')?.text
    const rows = await session.query({ name: '', text: `explain (generic_plan) ${text}`, values: [] })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(/using grants_user_id on .*\n *Index Cond: \(user_id = /)
    expect(plan).toMatch(/using grants_client_id on .*\n *Index Cond: \(\(client_id = .*audience = /)
  })

  test('an exchange finds the oldest live grants of a user in the order of an index, past any number of ended ones', async () => {
    const text = sent.find(({ name }) => name.startsWith('store_exchange'))?.text
    const rows = await session.query({ name: '', text: `explain (generic_plan) ${text}`, values: [] })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toMatch(
      /Limit .*\n *-> +Index Scan Backward using grants_user_id on .*\n *Index Cond: .*\(ended_at IS NULL\)/
    )
  })

  async function strayLines(statements: readonly Statement[], unwanted: RegExp): Promise<string[]> {
    const found: string[] = []
    for (const { name, text } of statements) {
      const rows = await session.query<{ 'QUERY PLAN': string }>({
        name: '',
        text: `explain (generic_plan) ${text}`,
        values: []
      })
      const stray = rows.map((row) => row['QUERY PLAN']).find((line) => unwanted.test(line))
      if (stray !== undefined) found.push(`${name}: ${stray.trim()}`)
    }
    return found
  }
})

describe('updates', () => {
  /** One connection: it has the statistics of every statement, and can be made to publish them. */
  let database: Database
  let grants: StoredGrant[]
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

  beforeAll(async () => {
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
        const expiresAt = after(3_000)
        const accessToken = { hash: newHash(), bucket: expiryBucket(expiresAt), scope: ['files.read'], expiresAt }
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
})
