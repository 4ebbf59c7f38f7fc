import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createTestRedis, type TestRedis } from '@valetkey/dev-stack'
import type { Database } from '@valetkey/service-kit'
import { hashId, newRandomId } from '../../../../../src/browser/session/random-id.js'
import {
  createProviderLogoutStore,
  type ProviderLogout
} from '../../../../../src/features/foreign-sign-in/providers/provider-logout-store.js'
import {
  createSessionStore,
  type ProviderSession,
  type SessionWay
} from '../../../../../src/storage/postgres/sessions.js'
import { createUserStore, type User } from '../../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../../support/migrated-database.js'
import { signInOf } from '../../../../support/sessions.js'

const ISSUER = 'https://id.example'
const ANNA: ProviderSession = { issuer: ISSUER, subject: 'anna', sid: 's-1', issuedAt: 1_000, startedAt: 1_000_000 }

let opened: MigratedDatabase
let redis: TestRedis
let user: User

beforeAll(async () => {
  opened = await createMigratedDatabase()
  redis = createTestRedis()
})
beforeEach(async () => {
  await redis.client.flushdb()
  await opened.run('delete from users')
  const created = await createUserStore(opened.database).create(
    { userId: crypto.randomUUID(), username: 'anna', passwordHash: undefined },
    NOTE
  )
  if (created === undefined) throw new Error('not created')
  user = created
})
afterAll(async () => {
  await redis.close()
  await opened.close()
})

const storeOn = (database: Database) => createProviderLogoutStore(redis.client, database)
const sessions = () => createSessionStore(opened.database, () => false)

const logout = (change: Partial<ProviderLogout> = {}): ProviderLogout => ({
  issuer: ISSUER,
  jti: crypto.randomUUID(),
  issuedAt: 1_000,
  receivedAt: 1_000_500,
  ends: { subject: 'anna' },
  refusedSeconds: 60,
  ...change
})

async function open(way: SessionWay): Promise<string> {
  const hash = hashId(newRandomId())
  expect(await sessions().open(hash, signInOf(user, { way }))).toBe(true)
  return hash
}

const sid = { ends: { sid: 's-1' } }

test.each<{ name: string; session?: Partial<ProviderSession>; token?: Partial<ProviderLogout>; ended: boolean }>([
  { name: 'of the subject', ended: true },
  { name: 'of the session id', token: sid, ended: true },
  { name: 'of another subject', session: { subject: 'bert' }, ended: false },
  { name: 'of another session id', session: { sid: 's-2' }, token: sid, ended: false },
  { name: 'without a session id', session: { sid: undefined }, token: sid, ended: false },
  {
    name: 'whose subject looks like the session id',
    session: { subject: 's-1', sid: undefined },
    token: sid,
    ended: false
  },
  { name: 'of another issuer', session: { issuer: 'https://other.example' }, ended: false },
  { name: 'with an older ID token', session: { issuedAt: 999 }, ended: true },
  { name: 'with a newer ID token', session: { issuedAt: 1_001 }, ended: false },
  { name: 'of the same second, begun before the logout', session: { startedAt: 1_000_500 }, ended: true },
  { name: 'of the same second, begun after the logout', session: { startedAt: 1_000_501 }, ended: false },
  {
    name: 'of an older second, begun after the logout',
    session: { issuedAt: 999.9, startedAt: 1_000_501 },
    ended: true
  },
  {
    name: 'of a part of the same second',
    session: { issuedAt: 1_000.2, startedAt: 1_000_501 },
    token: { issuedAt: 1_000.7 },
    ended: false
  }
])('a session $name, ended: $ended, by its row and for a sign-in on the way', async ({ session, token, ended }) => {
  const way = { ...ANNA, ...session }
  const hash = await open({ kind: 'provider', id: 'example', ...way })
  const store = storeOn(opened.database)
  expect(await store.note(logout(token), 'request')).toBe(true)
  const isLeft = (await sessions().find(hash)) !== undefined
  expect({ row: !isLeft, late: await store.hasEnded(way) }).toEqual({ row: ended, late: ended })
})

test.each<SessionWay>([{ kind: 'password' }, { kind: 'handoff', issuer: ISSUER, subject: 'anna' }])(
  'a session with the way $kind stays',
  async (way) => {
    const hash = await open(way)
    await storeOn(opened.database).note(logout(), 'request')
    expect(await sessions().find(hash)).toBeDefined()
  }
)

test('sign-ins on the way are ended before the rows: a session opens before the deletion, or finds the logout', async () => {
  let atDeletion: boolean | undefined
  const store = storeOn({
    ...opened.database,
    async query(statement) {
      atDeletion = await store.hasEnded(ANNA)
      return opened.database.query(statement)
    }
  })
  await store.note(logout(), 'request')
  expect(atDeletion).toBe(true)
})

test('a deletion that fails leaves the logout token valid, so that the provider sends it again', async () => {
  const hash = await open({ kind: 'provider', id: 'example', ...ANNA })
  const token = logout()
  const failing = storeOn({ ...opened.database, query: () => Promise.reject(new Error('no deletion')) })
  await expect(failing.note(token, 'request 1')).rejects.toThrow('no deletion')
  expect(await storeOn(opened.database).note(token, 'request 2')).toBe(true)
  expect(await sessions().find(hash)).toBeUndefined()
})

test('a session that was ended stays ended after Redis has lost its data', async () => {
  const hash = await open({ kind: 'provider', id: 'example', ...ANNA })
  await storeOn(opened.database).note(logout(), 'request')
  await redis.client.flushdb()
  expect(await sessions().find(hash)).toBeUndefined()
})
