import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '@valetkey/service-kit'
import {
  type AllowanceStore,
  createAllowanceStore,
  type SessionAndClient
} from '../../../src/storage/postgres/allowances.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import type { ConsentKey } from '../../../src/storage/postgres/consents.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { type StoredGrant, storeGrant } from '../../support/stored-grant.js'

const NAMES = ['a', 'b', 'c', 'd', 'b a', 'ba']
const NOW = new Date('2026-11-21T12:00:00.000Z')
const generations = (clientGeneration: number, authorizationGeneration: number) => ({
  rememberedScope: [],
  declinedScope: [],
  generations: { clientGeneration, authorizationGeneration }
})
const FIRST = generations(0, 0)

let opened: MigratedDatabase
let allowances: AllowanceStore
let sent: Statement[]
let clientId: string
let userId: string

beforeAll(async () => {
  opened = await createMigratedDatabase()
  allowances = createAllowanceStore({
    ...opened.database,
    query(statement) {
      sent.push(statement)
      return opened.database.query(statement)
    }
  })
  await opened.run('insert into scopes (name, title) select name, name from unnest($1::text[]) name', [NAMES])
})
beforeEach(async () => {
  // A separate user and client.
  const owner = await storeOwner()
  clientId = owner.clientId
  userId = owner.userId
  sent = []
})
afterAll(() => opened.close())

/** A user and a client, which has the generation 0. */
async function storeOwner(owner: { userId?: string } = {}): Promise<StoredGrant> {
  const stored = await storeGrant(opened.database, NOW, owner)
  const text = 'update clients set generation = 0, required_scopes = $2 where client_id = $1'
  await opened.run(text, [stored.clientId, NAMES])
  return stored
}

const FILES = 'https://files.example'
const query = (change: Partial<SessionAndClient> = {}): SessionAndClient => ({
  userId,
  userGeneration: 0,
  sessionGeneration: 0,
  clientId,
  audience: FILES,
  ...change
})
const read = (change?: Partial<SessionAndClient>) => allowances.read(query(change))
const endAccess = () => createConnectedAppStore(opened.database).end(userId, clientId)
const remember = (scope: readonly string[], of: Partial<ConsentKey> = {}) =>
  rememberConsent(opened.database, { userId, clientId, audience: FILES, ...of }, scope)

describe('allowance of a session and a client', () => {
  test('contains the generations of the client and of the authorization, and writes nothing', async () => {
    expect(await read()).toEqual(FIRST)
    await opened.run('update clients set generation = 7 where client_id = $1', [clientId])
    await opened.run('update users set generation = 3, session_generation = 2 where user_id = $1', [userId])
    const ofSession = { userGeneration: 3, sessionGeneration: 2 }
    expect(await read(ofSession)).toEqual(generations(7, 0))
    const rows = await opened.run('select 1 from consents where user_id = $1', [userId])
    expect(rows).toEqual([])
  })

  test('each end of access raises the authorization generation of that client only', async () => {
    const other = await storeOwner({ userId })
    await endAccess()
    expect(await read()).toEqual(generations(0, 1))
    await endAccess()
    await createGrantedAccessStore(opened.database).endOfUser({ userId, clientId }, NOTE)
    expect(await read()).toEqual(generations(0, 3))
    expect(await read({ clientId: other.clientId })).toEqual(FIRST)
    await createGrantedAccessStore(opened.database).endOfUser({ userId, clientId: undefined }, NOTE)
    expect(await read()).toEqual(generations(0, 4))
    expect(await read({ clientId: other.clientId })).toEqual(generations(0, 1))
  })

  test.each<{ name: string; run(): Promise<unknown> }>([
    {
      name: 'a disabled user',
      run: () => opened.run('update users set disabled_at = now() where user_id = $1', [userId])
    },
    { name: 'a deleted user', run: () => opened.run('delete from users where user_id = $1', [userId]) },
    {
      name: 'a user whose generation was raised',
      run: () => opened.run('update users set generation = 1 where user_id = $1', [userId])
    },
    {
      name: 'a user who has signed out everywhere',
      run: () => opened.run('update users set session_generation = 1 where user_id = $1', [userId])
    }
  ])('$name has none', async ({ run }) => {
    await run()
    expect(await read()).toBeUndefined()
  })

  test.each([
    { name: 'a disabled client', text: 'update clients set disabled_at = now() where client_id = $1' },
    { name: 'a deleted client', text: 'delete from clients where client_id = $1' }
  ])('$name has no generations and no remembered consent', async ({ text }) => {
    await remember(['a'])
    await opened.run(text, [clientId])
    expect(await read()).toEqual({ rememberedScope: [], declinedScope: [], generations: undefined })
  })
})

describe('remembered scope', () => {
  const remembered = async () => (await read())?.rememberedScope.toSorted()

  test('is empty without a consent', async () => {
    expect(await remembered()).toEqual([])
  })

  test('contains what all consents of this user for this client added', async () => {
    const other = await storeOwner()
    await remember(['d'], { userId, clientId: other.clientId })
    await remember(['d'], { userId: other.userId, clientId })
    await remember(['b a', 'b'])
    await remember(['a'])
    expect(await remembered()).toEqual(['a', 'b', 'b a'])
  })

  test('is that for the API of the request only, and no end of access restores another', async () => {
    const reports = 'https://reports.example'
    await remember(['a'])
    await remember(['b'], { audience: reports })
    expect(await read()).toMatchObject({ rememberedScope: ['a'] })
    expect(await read({ audience: reports })).toMatchObject({ rememberedScope: ['b'] })
    expect(await read({ audience: `${FILES}/` })).toMatchObject({ rememberedScope: [] })
    await endAccess()
    await remember(['a'])
    expect(await read()).toMatchObject({ rememberedScope: ['a'] })
    expect(await read({ audience: reports })).toMatchObject({ rememberedScope: [] })
  })

  test('is empty after access has ended, until the user consents again', async () => {
    await remember(['a', 'b'])
    await endAccess()
    expect(await remembered()).toEqual([])
    await remember(['b'])
    expect(await read()).toEqual({ ...generations(0, 1), rememberedScope: ['b'] })
  })
})

describe('concurrent requests', () => {
  test('share one statement, and each gets its own result', async () => {
    const other = await storeOwner()
    await opened.run('update users set generation = 4, session_generation = 2 where user_id = $1', [other.userId])
    await opened.run('update clients set generation = 5 where client_id = $1', [other.clientId])
    const all = [
      query(),
      query({ clientId: other.clientId, userId: other.userId, userGeneration: 4, sessionGeneration: 2 }),
      query({ userId: other.userId }),
      query({ clientId: 'unknown' }),
      query({ userId: randomUUID() }),
      query()
    ]
    sent = []
    expect(await Promise.all(all.map(allowances.read))).toEqual([
      FIRST,
      generations(5, 0),
      undefined,
      { rememberedScope: [], declinedScope: [], generations: undefined },
      undefined,
      FIRST
    ])
    expect(sent).toHaveLength(1)
  })

  test.each([
    { name: 'a user id that is no UUID', bad: { userId: 'unknown' } },
    { name: 'a client id with a NUL', bad: { clientId: 'a\0b' } }
  ])('$name fails, and the requests of the same batch succeed', async ({ bad }) => {
    const settled = await Promise.allSettled([{}, bad, {}].map(read))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('500 requests take at most 4 statements', async () => {
    const found = await Promise.all(Array.from({ length: 500 }, () => read()))
    expect(new Set(found.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify(FIRST)]))
    expect(sent.length).toBeLessThanOrEqual(4)
  })
})
