import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { createOwnIdentityStore } from '../../../src/storage/postgres/own-identities.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { untilBlocked } from '../../support/until-blocked.js'

const ISSUER = 'https://login.example'
let opened: MigratedDatabase
let userId: string

beforeAll(async () => {
  opened = await createMigratedDatabase()
})
beforeEach(async () => {
  userId = randomUUID()
  await opened.run('delete from users')
  await opened.run('insert into users (user_id, username, created_at) values ($1, $2, now())', [userId, userId])
})
afterAll(() => opened.close())

const link = (subject: string, issuer = ISSUER) =>
  opened.run('insert into identities (issuer, subject, user_id, created_at) values ($1, $2, $3, now())', [
    ...[issuer, subject, userId]
  ])
const unlink = (subject: string) =>
  createOwnIdentityStore(opened.database).unlink(userId, { issuer: ISSUER, subject }, 0, NOTE)
const subjects = async () =>
  (await opened.run('select subject from identities order by subject')).map((row) => row.subject)

test('removes the identity and ends all sessions', async () => {
  await Promise.all([link('a'), link('b')])
  expect((await unlink('a'))?.sessionGeneration).toBe(1)
  expect(await subjects()).toEqual(['b'])
})

test('an identity that is not linked ends no session', async () => {
  await link('a')
  expect(await unlink('b')).toBeUndefined()
  expect(await opened.run('select session_generation from users')).toEqual([{ session_generation: 0 }])
})

test.each([
  { name: 'another identity', remove: `delete from identities where subject = 'a'` },
  { name: 'a passkey', remove: `delete from passkeys` }
])('waits for a parallel removal of $name, and then keeps what is left', async ({ remove }) => {
  await Promise.all([link('a'), link('b')])
  const other = new pg.Client({ connectionString: opened.url })
  await other.connect()
  await other.query('begin')
  // Both were decided while the user had two ways to sign in.
  await other.query('update users set session_generation = session_generation + 1')
  await other.query(remove)
  const second = unlink('b')
  await untilBlocked(opened.run)
  await other.query('commit')
  await other.end()
  expect(await second).toBeUndefined()
  expect(await subjects()).toContain('b')
})
