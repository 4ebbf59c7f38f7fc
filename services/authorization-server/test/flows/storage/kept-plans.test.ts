import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres, type Database, type Statement } from '@valetkey/service-kit'
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
import { NOTE } from '../../support/audit-note.js'
import { exchangeOf } from '../../support/exchanges.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { PACE } from '../../support/rotation.js'
import { newHash } from '../../support/stored-grant.js'

const now = new Date()
const bucketsAt = new Date(now.getTime() + 3_600_000)

let opened: MigratedDatabase
/** With the connection options of the service. */
let session: Database
const sent: Statement[] = []

/** Every statement whose cost could grow with the tables, executed on empty tables. */
beforeAll(async () => {
  opened = await createMigratedDatabase()
  session = connectPostgres(opened.url, { connections: 1, plans: 'kept by index' })
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
  const accessToken = { hash: newHash(), scope: ['files.read'], expiresAt: bucketsAt }
  const token = { hash: newHash(), bucket: Math.floor(bucketsAt.getTime() / 3_600_000) }
  await createIntrospectionStore(database, buckets).find(token)
  await createAccessTokenStore(database, buckets).revoke(token, 'client')
  const grants = createGrantStore(database, buckets)
  const exchange = exchangeOf({ clientId: 'client', userId: randomUUID() }, { tokens: { issuedAt: now, accessToken } })
  await grants.storeExchange(exchange)
  await grants.findByCode(newHash())
  await grants.discardUndelivered(newHash(), [randomUUID()])
  await grants.endReplayed(newHash())
  const user = { userId: randomUUID(), userGeneration: 0, sessionGeneration: 0 }
  await createAllowanceStore(database).read({ ...user, clientId: 'client', audience: 'https://files.example' })
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
  await opened.close()
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
