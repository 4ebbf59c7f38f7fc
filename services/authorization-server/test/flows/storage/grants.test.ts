import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '@valetkey/service-kit'
import { hashId } from '../../../src/browser/session/random-id.js'
import {
  type AllowanceStore,
  createAllowanceStore,
  type SessionAndClient
} from '../../../src/storage/postgres/allowances.js'
import { createConnectedAppStore } from '../../../src/storage/postgres/connected-apps.js'
import type { ConsentKey } from '../../../src/storage/postgres/consents.js'
import type { Exchange } from '../../../src/storage/postgres/exchanges.js'
import { createGrantedAccessStore } from '../../../src/storage/postgres/granted-access.js'
import { createGrantStore, type GrantStore } from '../../../src/storage/postgres/grants.js'
import { createRefreshTokenStore } from '../../../src/storage/postgres/refresh-tokens.js'
import { createSessionStore } from '../../../src/storage/postgres/sessions.js'
import { NOTE } from '../../support/audit-note.js'
import { again, exchangeOf, later, now, prepareExchanges, STORED } from '../../support/exchanges.js'
import { findLiveAccessToken } from '../../support/live-access-token.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { rememberConsent } from '../../support/remember-consent.js'
import { openSessionOf } from '../../support/sessions.js'
import { newHash, type StoredGrant, storeGrant } from '../../support/stored-grant.js'

describe('grants', () => {
  let kit: Awaited<ReturnType<typeof prepareExchanges>>
  let present = now
  let grants: GrantStore
  let exchange: Exchange

  beforeAll(async () => {
    kit = await prepareExchanges()
    grants = createGrantStore(
      atTime(kit.opened.database, () => present),
      undefined,
      { limitsFactor: 1_000 }
    )
  })
  beforeEach(() => {
    present = now
    exchange = exchangeOf(kit.owner)
  })
  afterAll(() => kit.opened.close())

  type Row = Record<string, unknown>

  const rowOf = async ({ codeHash } = exchange): Promise<Row | undefined> =>
    (await kit.opened.run<Row>('select * from grants where code_hash = $1', [codeHash]))[0]

  const isAlive = async ({ tokens } = exchange) =>
    (await findLiveAccessToken(kit.opened.database, tokens.accessToken.hash, later(1_000))) !== undefined

  const refreshTokenOf = ({ tokens }: Exchange) =>
    createRefreshTokenStore(kit.opened.database).find(tokens.refreshToken?.hash ?? newHash())

  describe('findByCode', () => {
    test.each([
      { name: 'with a challenge', codeChallenge: 'challenge' },
      { name: 'without a challenge', codeChallenge: undefined }
    ])('a grant $name: returns the code binding', async ({ codeChallenge }) => {
      const own = exchangeOf(kit.owner, { binding: { codeChallenge } })
      await grants.storeExchange(own)
      const { grantId, allowed } = own
      const found = { grantId, userId: kit.owner.userId, binding: allowed.binding }
      expect(await grants.findByCode(own.codeHash)).toEqual(found)
      await grants.end(grantId)
      expect(await grants.findByCode(own.codeHash)).toEqual(found)
    })

    test('a code without issued tokens: undefined', async () => {
      expect(await grants.findByCode(newHash())).toBeUndefined()
      await grants.endReplayed(exchange.codeHash)
      expect(await rowOf()).toBeUndefined()
    })
  })

  describe('end', () => {
    test('ends only this grant, and keeps the first time of the end', async () => {
      const other = exchangeOf(kit.owner)
      await Promise.all([exchange, other].map(grants.storeExchange))
      present = later(1_000)
      expect(await grants.end(exchange.grantId)).toEqual({ userId: kit.owner.userId })
      present = later(2_000)
      expect(await grants.end(exchange.grantId)).toBeUndefined()
      expect(await rowOf()).toMatchObject({ ended_at: later(1_000) })
      expect(await rowOf(other)).toMatchObject({ ended_at: null })
      expect([await isAlive(), await isAlive(other)]).toEqual([false, true])
    })
  })

  describe('endReplayed', () => {
    test('the grant ends, the first end is kept, and the next exchange stores nothing', async () => {
      await grants.storeExchange(exchange)
      present = later(1_000)
      await grants.endReplayed(exchange.codeHash)
      present = later(2_000)
      await grants.endReplayed(exchange.codeHash)
      expect(await rowOf()).toMatchObject({ grant_id: exchange.grantId, ended_at: later(1_000), redeemed_at: now })
      expect(await isAlive()).toBe(false)
      expect(await refreshTokenOf(exchange)).toMatchObject({ ended: true })
      expect(await grants.storeExchange(again(exchange))).toBeUndefined()
    })

    test('a discarded exchange does not end, so the next exchange of the code gets tokens', async () => {
      await grants.storeExchange(exchange)
      await grants.discardUndelivered(exchange.codeHash, [exchange.grantId])
      await grants.endReplayed(exchange.codeHash)
      const retry = again(exchange)
      expect(await grants.storeExchange(retry)).toEqual(STORED)
      expect(await isAlive(retry)).toBe(true)
    })

    test('50 pairs of concurrent exchanges and endings: each exchange is stored, and none ends twice', async () => {
      const exchanges = kit.newExchanges(50)
      const stored = await Promise.all(
        exchanges.map(async (each) => {
          const [scope] = await Promise.all([grants.storeExchange(each), grants.endReplayed(each.codeHash)])
          await grants.endReplayed(each.codeHash)
          return scope
        })
      )
      expect(stored).toEqual(exchanges.map(() => STORED))
      const alive = await Promise.all(exchanges.map(isAlive))
      expect(alive).toEqual(exchanges.map(() => false))
    })
  })

  describe('discardUndelivered', () => {
    test('allows another exchange of the code; earlier tokens have ended', async () => {
      await grants.storeExchange(exchange)
      await grants.discardUndelivered(exchange.codeHash, ['d1f0f0f0-0000-4000-8000-000000000002', exchange.grantId])
      expect(await grants.findByCode(exchange.codeHash)).toBeUndefined()
      present = later(5_000)
      const retry = again({ ...exchange, tokens: { ...exchange.tokens, issuedAt: present } })
      expect(await grants.storeExchange(retry)).toEqual(STORED)
      expect([await isAlive(), await isAlive(retry)]).toEqual([false, true])
      expect(await refreshTokenOf(exchange)).toBeUndefined()
      expect(await refreshTokenOf(retry)).toMatchObject({ ended: false })
    })

    test('does not change grants of other exchanges or codes', async () => {
      const other = exchangeOf(kit.owner)
      await Promise.all([exchange, other].map(grants.storeExchange))
      await grants.discardUndelivered(exchange.codeHash, [other.grantId])
      await grants.discardUndelivered(exchange.codeHash, [])
      expect([await isAlive(), await isAlive(other)]).toEqual([true, true])
    })

    test.each([
      { name: 'a replay', end: () => grants.endReplayed(exchange.codeHash) },
      { name: 'an operator', end: () => grants.end(exchange.grantId) }
    ])('a grant that $name ended: the next exchange stores no tokens', async ({ end }) => {
      await grants.storeExchange(exchange)
      await end()
      await grants.discardUndelivered(exchange.codeHash, [exchange.grantId])
      expect(await grants.storeExchange(again(exchange))).toBeUndefined()
      expect(await isAlive()).toBe(false)
      expect(await kit.tokensOf([exchange])).toEqual({ access: 1, refresh: 1 })
    })
  })
})

describe('allowances', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'b a', 'ba']
  const NOW = new Date('2026-11-21T12:00:00.000Z')
  const generations = (clientGeneration: number, authorizationGeneration: number) => ({
    userId,
    userGeneration: 0,
    isUseDue: false,
    // Of the sign-in of this test.
    authenticatedAt: expect.any(Number),
    rememberedScope: [],
    declinedScope: [],
    generations: { clientGeneration, authorizationGeneration }
  })
  const first = () => generations(0, 0)

  let opened: MigratedDatabase
  let allowances: AllowanceStore
  let sent: Statement[]
  let clientId: string
  let userId: string
  let sessionHash: string

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
    sessionHash = await openSessionOf(opened.database, userId)
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
    sessionHash,
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
      expect(await read()).toEqual(first())
      await opened.run('update clients set generation = 7 where client_id = $1', [clientId])
      await opened.run('update users set generation = 3, session_generation = 2 where user_id = $1', [userId])
      const later = await openSessionOf(opened.database, userId)
      expect(await read({ sessionHash: later })).toEqual({ ...generations(7, 0), userGeneration: 3 })
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
      expect(await read({ clientId: other.clientId })).toEqual(first())
      await createGrantedAccessStore(opened.database).endOfUser({ userId, clientId: undefined }, NOTE)
      expect(await read()).toEqual(generations(0, 4))
      expect(await read({ clientId: other.clientId })).toEqual(generations(0, 1))
    })

    test.each<{ name: string; run(): Promise<unknown> }>([
      {
        name: 'a disabled user',
        run: () => opened.run('update users set disabled_at = now() where user_id = $1', [userId])
      },
      {
        name: 'a disabled user whose sessions were not deleted',
        async run() {
          await opened.run('alter table users disable trigger end_sessions')
          await opened.run('update users set disabled_at = now() where user_id = $1', [userId])
          await opened.run('alter table users enable trigger end_sessions')
        }
      },
      { name: 'a deleted user', run: () => opened.run('delete from users where user_id = $1', [userId]) },
      {
        name: 'a user whose generation was raised',
        run: () => opened.run('update users set generation = 1 where user_id = $1', [userId])
      },
      {
        name: 'a user who has signed out everywhere',
        run: () => opened.run('update users set session_generation = 1 where user_id = $1', [userId])
      },
      {
        name: 'a session that was signed out',
        run: () => createSessionStore(opened.database, () => false).close(sessionHash)
      },
      {
        name: 'a session after its absolute end',
        run: () => opened.run('update sessions set ends_at = now()')
      },
      {
        name: 'a session that was not used for 12 hours',
        run: () => opened.run(`update sessions set seen_at = now() - interval '12 hours'`)
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
      expect(await read()).toEqual({ ...first(), generations: undefined })
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
      const ofOther = await openSessionOf(opened.database, other.userId)
      await opened.run('update clients set generation = 5 where client_id = $1', [other.clientId])
      const all = [
        query(),
        query({ clientId: other.clientId, sessionHash: ofOther }),
        query({ sessionHash: hashId('unknown') }),
        query({ clientId: 'unknown' }),
        query({ sessionHash: ofOther }),
        query()
      ]
      sent = []
      expect(await Promise.all(all.map(allowances.read))).toEqual([
        first(),
        { ...generations(5, 0), userId: other.userId, userGeneration: 4 },
        undefined,
        { ...first(), generations: undefined },
        { ...first(), userId: other.userId, userGeneration: 4 },
        first()
      ])
      expect(sent).toHaveLength(1)
    })

    test.each([
      { name: 'a hash that is no base64url', bad: { sessionHash: 'unknown!' } },
      { name: 'a client id with a NUL', bad: { clientId: 'a\0b' } }
    ])('$name fails, and the requests of the same batch succeed', async ({ bad }) => {
      const settled = await Promise.allSettled([{}, bad, {}].map(read))
      expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    })

    test('500 requests take at most 4 statements', async () => {
      const found = await Promise.all(Array.from({ length: 500 }, () => read()))
      expect(found).toEqual(found.map(() => first()))
      expect(sent.length).toBeLessThanOrEqual(4)
    })
  })
})
