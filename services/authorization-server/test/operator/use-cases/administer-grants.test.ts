import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { type GrantAdministration, revokeGrants } from '../../../src/operator/use-cases/administer-grants.js'
import { createAllowanceStore } from '../../../src/storage/postgres/allowances.js'
import { createClientStore } from '../../../src/storage/postgres/clients.js'
import { createGrantedAccessStore, type GrantFilter } from '../../../src/storage/postgres/granted-access.js'
import { createGrantStore } from '../../../src/storage/postgres/grants.js'
import { createUserStore } from '../../../src/storage/postgres/users.js'
import { exchangeOf, now } from '../../support/exchanges.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

const NOW = new Date('2026-11-21T08:00:00Z')
const AUTHOR = { actor: { kind: 'command_line', name: 'test' } } as const

let stores: MigratedDatabase
const AUDIENCE = 'https://files.example'
let deps: GrantAdministration

beforeAll(async () => {
  stores = await createMigratedDatabase()
  const database = atTime(stores.database, NOW)
  deps = {
    grants: createGrantedAccessStore(database),
    users: createUserStore(database),
    clients: createClientStore(database)
  }
})
afterAll(() => stores.close())

test('all grants of a user end with one statement and are counted, while another statement locks some', async () => {
  const { userId } = await storeGrant(stores.database, NOW)
  await stores.run(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, newest_scope, created_at, redeemed_at, expires_at)
      select gen_random_uuid(), client_id, user_id, scope, audience, redirect_uri, sha256(n::text::bytea),
        user_generation, client_generation, newest_scope, created_at, redeemed_at, expires_at
      from grants cross join generate_series(1, 11000) n where user_id = $1`,
    [userId]
  )
  const other = new pg.Client({ connectionString: stores.url })
  await other.connect()
  await other.query('begin')
  await other.query('select 1 from grants where user_id = $1 limit 2000 for update', [userId])
  expect(await revokeGrants({ userId }, AUTHOR, deps)).toBe(11_001)
  await other.query('commit')
  await other.end()
  expect(await aliveOf({ userId })).toBe(0)
  expect(await revokeGrants({ userId }, AUTHOR, deps)).toBe(0)
  const text = `select event from audit_events where event = 'grants_revoked' and user_id = $1`
  expect(await stores.run(text, [userId])).toHaveLength(1)
})

test.each([
  { name: 'the user', filterOf: ({ userId }: StoredGrant) => ({ userId }) },
  { name: 'the user to the client', filterOf: ({ userId, clientId }: StoredGrant) => ({ userId, clientId }) },
  { name: 'the client', filterOf: ({ clientId }: StoredGrant) => ({ clientId }) }
])('grants of $name end, including one that is issued at the same moment (20 rounds)', async ({ filterOf }) => {
  for (let round = 0; round < 20; round++) {
    const owner = await storeGrant(stores.database, NOW)
    await rememberConsent(stores.database, { ...owner, audience: AUDIENCE }, ['files.read'])
    const open = () => openRemembered(owner)
    await Promise.all([open(), open(), revokeGrants(filterOf(owner), AUTHOR, deps), open(), open()])
    expect(await aliveOf(filterOf(owner))).toBe(0)
    expect(await open()).toBe(false)
  }
})

const aliveOf = async (filter: GrantFilter): Promise<number> =>
  (await deps.grants.list(filter, { limit: 20_000 })).length

/** Issues a code by a remembered consent and exchanges it. @returns whether there were tokens */
async function openRemembered({ userId, clientId }: { userId: string; clientId: string }): Promise<boolean> {
  const scope = ['files.read']
  const session = { userGeneration: 0, sessionGeneration: 0 }
  const allowance = await createAllowanceStore(stores.database).read({
    userId,
    clientId,
    audience: AUDIENCE,
    ...session
  })
  if (!allowance?.rememberedScope.includes('files.read')) return false
  const exchange = exchangeOf({ userId, clientId }, { allowed: { ...allowance.generations, scope } })
  return (await createGrantStore(atTime(stores.database, now)).storeExchange(exchange)) !== undefined
}
