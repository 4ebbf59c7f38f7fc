import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '@valetkey/service-kit'
import { createConsentStore } from '../../src/storage/consents.js'
import { createGrantOpening, type NewGrant, type OpenGrant } from '../../src/storage/open-grant.js'
import { createMigratedDatabase, type MigratedDatabase } from '../support/migrated-database.js'
import { newDigest, storeGrant } from '../support/stored-grant.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

let opened: MigratedDatabase
let open: OpenGrant
let sent: Statement[]
let clientId: string
let userId: string
let grant: NewGrant

beforeAll(async () => {
  opened = await createMigratedDatabase()
  open = createGrantOpening({
    ...opened.database,
    query(statement) {
      sent.push(statement)
      return opened.database.query(statement)
    }
  })
})
beforeEach(async () => {
  // A user and a client of its own.
  const owner = await storeGrant(opened.database, NOW)
  clientId = owner.clientId
  userId = owner.userId
  grant = newGrant({})
  sent = []
})
afterAll(() => opened.close())

function newGrant(change: Partial<NewGrant>): NewGrant {
  return {
    grantId: randomUUID(),
    clientId,
    userId,
    userGeneration: 0,
    sessionGeneration: 0,
    scope: ['b', 'a'],
    consent: 'given',
    audience: 'https://files.example',
    redirectUri: 'https://app.example/callback',
    codeChallenge: 'challenge',
    codeDigest: newDigest(),
    createdAt: NOW,
    expiresAt: after(600),
    ...change
  }
}

type Row = Record<string, unknown>

const rowOf = async ({ grantId } = grant): Promise<Row | undefined> =>
  (await opened.run<Row>('select * from grants where grant_id = $1', [grantId]))[0]

describe('open', () => {
  test('writes what was allowed, with the generations of user and client', async () => {
    await opened.run('update clients set generation = 7 where client_id = $1', [clientId])
    await opened.run('update users set generation = 3 where user_id = $1', [userId])
    expect(await open({ ...grant, userGeneration: 3 })).toBe(true)
    expect(await rowOf()).toEqual({
      grant_id: grant.grantId,
      client_id: clientId,
      user_id: userId,
      scope: ['b', 'a'],
      audience: grant.audience,
      redirect_uri: grant.redirectUri,
      code_challenge: 'challenge',
      code_hash: grant.codeDigest,
      user_generation: 3,
      client_generation: 7,
      created_at: NOW,
      redeemed_at: null,
      ended_at: null,
      last_used_at: null,
      refreshable_until: null,
      expires_at: after(600)
    })
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
      name: 'a user whose generation has moved on',
      run: () => opened.run('update users set generation = 1 where user_id = $1', [userId])
    },
    {
      name: 'a user who has signed out everywhere',
      run: () => opened.run('update users set session_generation = 1 where user_id = $1', [userId])
    }
  ])('$name: false, and nothing is written', async ({ run }) => {
    await run()
    expect(await open(grant)).toBe(false)
    expect(await rowOf()).toBeUndefined()
  })

  test('two grants of one code there cannot be', async () => {
    await open(grant)
    await expect(open({ ...grant, grantId: randomUUID() })).rejects.toThrow(/unique/)
  })
})

describe('open, on a remembered consent', () => {
  const remember = (scope: readonly string[], of = { userId, clientId }) =>
    createConsentStore(opened.database).remember(of.userId, of.clientId, scope, NOW)

  test.each([
    { name: 'the same', remembered: ['b', 'a'], opens: true },
    { name: 'more, in another order', remembered: ['a', 'c', 'b'], opens: true },
    { name: 'one scope less', remembered: ['a'], opens: false },
    { name: 'others', remembered: ['c', 'd'], opens: false },
    { name: 'a scope whose name holds both', remembered: ['b a', 'ba'], opens: false },
    { name: 'nothing any more', remembered: [], opens: false }
  ])('remembered is $name: $opens', async ({ remembered, opens }) => {
    await remember(remembered)
    expect(await open({ ...grant, consent: 'remembered' })).toBe(opens)
    expect((await rowOf())?.scope).toEqual(opens ? ['b', 'a'] : undefined)
  })

  test('nothing remembered, or by another user, or for another client: false', async () => {
    const other = await storeGrant(opened.database, NOW)
    await remember(['a', 'b'], { userId, clientId: other.clientId })
    await remember(['a', 'b'], { userId: other.userId, clientId })
    expect(await open({ ...grant, consent: 'remembered' })).toBe(false)
  })

  test('a consent given just now needs none that is remembered', async () => {
    await remember(['c'])
    expect(await open(grant)).toBe(true)
  })
})

describe('open, many at a time', () => {
  test('they share a statement; each is judged by itself and keeps its own values', async () => {
    const other = await storeGrant(opened.database, NOW)
    sent = []
    await opened.run('update users set generation = 4, session_generation = 2 where user_id = $1', [other.userId])
    const theirs = { clientId: other.clientId, userId: other.userId, userGeneration: 4, sessionGeneration: 2 }
    const grants = [
      grant,
      newGrant({ ...theirs, scope: ['c'], codeChallenge: undefined }),
      newGrant({ userId: other.userId }),
      newGrant({ consent: 'remembered' }),
      newGrant({ clientId: 'nobody' }),
      newGrant({ scope: [], audience: 'x, "y" {z} \\ NULL' })
    ]
    expect(await Promise.all(grants.map(open))).toEqual([true, true, false, false, false, true])
    expect(sent).toHaveLength(1)
    const rows = await Promise.all(grants.map((each) => rowOf(each)))
    expect(rows.map((row) => row && [row.user_id, row.scope, row.code_challenge, row.code_hash, row.audience])).toEqual(
      [
        [userId, ['b', 'a'], 'challenge', grant.codeDigest, grant.audience],
        [other.userId, ['c'], null, grants[1]?.codeDigest, grant.audience],
        undefined,
        undefined,
        undefined,
        [userId, [], 'challenge', grants[5]?.codeDigest, 'x, "y" {z} \\ NULL']
      ]
    )
  })

  test.each([
    { name: 'a user id that is none', bad: { userId: 'nobody' } },
    { name: 'a text that Postgres cannot hold', bad: { audience: 'a\0b' } }
  ])('$name fails alone', async ({ bad }) => {
    const grants = [grant, newGrant(bad), newGrant({})]
    const settled = await Promise.allSettled(grants.map(open))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await Promise.all(grants.map((each) => rowOf(each)))).map((row) => row !== undefined)).toEqual([
      true,
      false,
      true
    ])
  })

  test('five hundred at once take a handful of statements', async () => {
    const grants = Array.from({ length: 500 }, () => newGrant({}))
    expect(new Set(await Promise.all(grants.map(open)))).toEqual(new Set([true]))
    expect(sent.length).toBeLessThanOrEqual(4)
    const [row] = await opened.run<{ count: string }>('select count(*) from grants where user_id = $1', [userId])
    expect(Number(row?.count)).toBe(501)
  })
})
