import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { type GrantAdministration, revokeGrants } from '../../src/administration/administer-grants.js'
import { createClientStore } from '../../src/storage/clients.js'
import { type ConsentStore, createConsentStore } from '../../src/storage/consents.js'
import { createGrantedAccessStore } from '../../src/storage/granted-access.js'
import { createGrantOpening } from '../../src/storage/open-grant.js'
import { createUserStore } from '../../src/storage/users.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'
import { newDigest, storeGrant } from '../support/stored-grant.js'
import { untilBlocked } from '../support/until-blocked.js'

const NOW = new Date('2026-11-21T08:00:00Z')
const AUTHOR = { actor: { kind: 'command_line', name: 'test' } } as const

let stores: MigratedDatabase
let consents: ConsentStore
let deps: GrantAdministration

beforeAll(async () => {
  stores = await createMigratedDatabase()
  const { database } = stores
  consents = createConsentStore(database)
  deps = {
    grants: createGrantedAccessStore(database),
    users: createUserStore(database),
    clients: createClientStore(database),
    consents,
    now: () => NOW
  }
})
afterAll(() => stores.close())

test('all grants of a user end, though somebody else was ending some of the first ten thousand', async () => {
  const { userId } = await storeGrant(stores.database, NOW)
  await stores.run(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, created_at, expires_at)
      select gen_random_uuid(), client_id, user_id, scope, audience, redirect_uri, sha256(n::text::bytea),
        user_generation, client_generation, created_at, expires_at
      from grants cross join generate_series(1, 11000) n where user_id = $1`,
    [userId]
  )
  const somebody = new pg.Client({ connectionString: stores.url })
  await somebody.connect()
  await somebody.query('begin')
  const some = 'select grant_id from grants where user_id = $1 order by grant_id limit 2000'
  await somebody.query(`update grants set ended_at = $2 where grant_id in (${some})`, [userId, NOW])
  const revoked = revokeGrants({ userId }, AUTHOR, deps)
  await untilBlocked(stores.run)
  await somebody.query('commit')
  await somebody.end()
  expect(await revoked).toBe(9_001)
  expect(await aliveOf({ userId })).toBe(0)
})

test('what was still remembered opens no grant that outlives the end of all grants to a client', async () => {
  const { clientId, userId } = await storeGrant(stores.database, NOW)
  await consents.remember(userId, clientId, ['files.read'], NOW)
  const meanwhile: boolean[] = []
  const forgetClient = async (id: string) => {
    meanwhile.push(await openRemembered(userId, id))
    return consents.forgetClient(id)
  }
  await revokeGrants({ clientId }, AUTHOR, { ...deps, consents: { forgetClient } })
  expect(meanwhile).toEqual([true])
  expect(await aliveOf({ clientId })).toBe(0)
  expect(await openRemembered(userId, clientId)).toBe(false)
})

/** Those that have not been ended, by themselves or by a generation. */
async function aliveOf({ userId, clientId }: { userId?: string; clientId?: string }): Promise<number> {
  const text = `select count(*)::integer as alive from grants g
    join users u on u.user_id = g.user_id and u.generation = g.user_generation
    join clients c on c.client_id = g.client_id and c.generation = g.client_generation
    where g.ended_at is null and (g.user_id = $1 or g.client_id = $2)`
  return (await stores.run<{ alive: number }>(text, [userId, clientId]))[0]?.alive ?? -1
}

async function openRemembered(userId: string, clientId: string): Promise<boolean> {
  return createGrantOpening(stores.database)({
    grantId: randomUUID(),
    clientId,
    userId,
    userGeneration: 0,
    sessionGeneration: 0,
    scope: ['files.read'],
    consent: 'remembered',
    audience: 'https://files.example',
    redirectUri: 'https://app.example/callback',
    codeChallenge: undefined,
    codeDigest: newDigest(),
    createdAt: NOW,
    expiresAt: new Date(NOW.getTime() + 600_000)
  })
}
