import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '@valetkey/service-kit'
import { type Allowance, type AllowanceStore, createAllowanceStore } from '../../../src/storage/postgres/allowances.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import { createConsentStore } from '../../../src/storage/postgres/consents.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { storeGrant } from '../../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const FIRST = { clientGeneration: 0, authorizationGeneration: 0 }

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
  const names = ['a', 'b', 'c', 'd', 'b a', 'ba']
  await opened.run('insert into scopes (name, title) select name, name from unnest($1::text[]) name', [names])
})
beforeEach(async () => {
  // A user and a client of its own.
  const owner = await storeGrant(opened.database, NOW)
  clientId = owner.clientId
  userId = owner.userId
  sent = []
})
afterAll(() => opened.close())

const allowance = (change: Partial<Allowance> = {}): Allowance => ({
  userId,
  userGeneration: 0,
  sessionGeneration: 0,
  clientId,
  scope: ['b', 'a'],
  consent: 'given',
  ...change
})
const read = (change?: Partial<Allowance>) => allowances.read(allowance(change))
const endAccess = () => createConnectedAppStore(opened.database).end(userId, clientId)
const remember = (scope: readonly string[], of = { userId, clientId }) =>
  createConsentStore(opened.database).remember(of.userId, of.clientId, scope)

describe('what a user allows', () => {
  test('comes with the generations of the client and of the authorization, and nothing is written', async () => {
    expect(await read()).toEqual(FIRST)
    await opened.run('update clients set generation = 7 where client_id = $1', [clientId])
    await opened.run('update users set generation = 3, session_generation = 2 where user_id = $1', [userId])
    const ofSession = { userGeneration: 3, sessionGeneration: 2 }
    expect(await read(ofSession)).toEqual({ clientGeneration: 7, authorizationGeneration: 0 })
    const rows = await opened.run('select 1 from consents where user_id = $1', [userId])
    expect(rows).toEqual([])
  })

  test('each ending of the access raises the generation of the authorization, and none of another client', async () => {
    const other = await storeGrant(opened.database, NOW, { userId })
    await endAccess()
    expect(await read()).toEqual({ clientGeneration: 0, authorizationGeneration: 1 })
    await endAccess()
    await createGrantedAccessStore(opened.database).endOfUser({ userId, clientId }, NOTE)
    expect(await read()).toEqual({ clientGeneration: 0, authorizationGeneration: 3 })
    expect(await read({ clientId: other.clientId })).toEqual(FIRST)
    await createGrantedAccessStore(opened.database).endOfUser({ userId, clientId: undefined }, NOTE)
    expect(await read()).toEqual({ clientGeneration: 0, authorizationGeneration: 4 })
    expect(await read({ clientId: other.clientId })).toEqual({ clientGeneration: 0, authorizationGeneration: 1 })
  })

  test.each<{ name: string; run(): Promise<unknown> }>([
    {
      name: 'a disabled user',
      run: () => opened.run('update users set disabled_at = now() where user_id = $1', [userId])
    },
    {
      name: 'a disabled client',
      run: () => opened.run('update clients set disabled_at = now() where client_id = $1', [clientId])
    },
    { name: 'a deleted user', run: () => opened.run('delete from users where user_id = $1', [userId]) },
    { name: 'a deleted client', run: () => opened.run('delete from clients where client_id = $1', [clientId]) },
    {
      name: 'a user whose generation was raised',
      run: () => opened.run('update users set generation = 1 where user_id = $1', [userId])
    },
    {
      name: 'a user who has signed out everywhere',
      run: () => opened.run('update users set session_generation = 1 where user_id = $1', [userId])
    }
  ])('$name allows nothing', async ({ run }) => {
    await run()
    expect(await read()).toBeUndefined()
  })
})

describe('a remembered consent', () => {
  test.each([
    { name: 'the same scope', remembered: ['b', 'a'], allows: true },
    { name: 'a wider scope, in another order', remembered: ['a', 'c', 'b'], allows: true },
    { name: 'one scope less', remembered: ['a'], allows: false },
    { name: 'other scopes', remembered: ['c', 'd'], allows: false },
    { name: 'a scope whose name holds both', remembered: ['b a', 'ba'], allows: false },
    { name: 'nothing any more', remembered: [], allows: false }
  ])('of $name allows: $allows', async ({ remembered, allows }) => {
    await remember(remembered)
    expect(await read({ consent: 'remembered' })).toEqual(allows ? FIRST : undefined)
  })

  test('of another user, or for another client, allows nothing', async () => {
    const other = await storeGrant(opened.database, NOW)
    await remember(['a', 'b'], { userId, clientId: other.clientId })
    await remember(['a', 'b'], { userId: other.userId, clientId })
    expect(await read({ consent: 'remembered' })).toBeUndefined()
  })

  test('allows nothing once the access has ended, until the user is asked again', async () => {
    await remember(['a', 'b'])
    await endAccess()
    expect(await read({ consent: 'remembered' })).toBeUndefined()
    await remember(['a', 'b'])
    expect(await read({ consent: 'remembered' })).toEqual({ clientGeneration: 0, authorizationGeneration: 1 })
  })

  test('is not needed for what the user allows now', async () => {
    await remember(['c'])
    expect(await read()).toEqual(FIRST)
  })
})

describe('concurrent requests', () => {
  test('share a statement, and each is judged by itself', async () => {
    const other = await storeGrant(opened.database, NOW)
    await opened.run('update users set generation = 4, session_generation = 2 where user_id = $1', [other.userId])
    await opened.run('update clients set generation = 5 where client_id = $1', [other.clientId])
    const all = [
      allowance(),
      allowance({ clientId: other.clientId, userId: other.userId, userGeneration: 4, sessionGeneration: 2 }),
      allowance({ userId: other.userId }),
      allowance({ consent: 'remembered' }),
      allowance({ clientId: 'nobody' }),
      allowance({ userId: randomUUID() }),
      allowance({ scope: [] })
    ]
    sent = []
    expect(await Promise.all(all.map(allowances.read))).toEqual([
      FIRST,
      { clientGeneration: 5, authorizationGeneration: 0 },
      undefined,
      undefined,
      undefined,
      undefined,
      FIRST
    ])
    expect(sent).toHaveLength(1)
  })

  test.each([
    { name: 'a user id that is none', bad: { userId: 'nobody' } },
    { name: 'a text that Postgres cannot hold', bad: { scope: ['a\0b'] } }
  ])('$name: that one fails alone', async ({ bad }) => {
    const settled = await Promise.allSettled([{}, bad, {}].map(read))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('500 take a handful of statements', async () => {
    const found = await Promise.all(Array.from({ length: 500 }, () => read()))
    expect(new Set(found.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify(FIRST)]))
    expect(sent.length).toBeLessThanOrEqual(4)
  })
})
