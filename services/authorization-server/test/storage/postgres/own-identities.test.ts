import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import pg from 'pg'
import { createOwnIdentityStore } from '../../../src/storage/postgres/own-identities.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { untilBlocked } from '../../support/until-blocked.js'

const ISSUER = 'https://login.example'
const WAYS = { issuers: [ISSUER], local: true }

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
const unlink = (subject: string, ways = WAYS) =>
  createOwnIdentityStore(opened.database).unlink(userId, { issuer: ISSUER, subject }, ways, NOTE)

test('waits for a parallel unlinking, and then keeps the last way in', async () => {
  await Promise.all([link('a'), link('b')])
  const other = new pg.Client({ connectionString: opened.url })
  await other.connect()
  await other.query('begin')
  await other.query(`delete from identities where subject = 'a'`)
  const second = unlink('b')
  await untilBlocked(opened.run)
  await other.query('commit')
  await other.end()
  expect(await second).toBeUndefined()
  expect(await opened.run('select subject from identities')).toEqual([{ subject: 'b' }])
})

test.each<{ name: string; prepare: () => Promise<unknown>; ways?: typeof WAYS; unlinks: boolean }>([
  { name: 'no other way', prepare: async () => {}, unlinks: false },
  { name: 'another identity', prepare: () => link('b'), unlinks: true },
  {
    name: 'an identity of an issuer that is not configured',
    prepare: () => link('b', 'https://gone.example'),
    unlinks: false
  },
  { name: 'a password', prepare: () => opened.run(`update users set password_hash = 'x'`), unlinks: true },
  {
    name: 'a password, without local sign-in',
    prepare: () => opened.run(`update users set password_hash = 'x'`),
    ways: { issuers: [ISSUER], local: false },
    unlinks: false
  }
])('beside $name: unlinks: $unlinks', async ({ prepare, ways, unlinks }) => {
  await link('a')
  await prepare()
  const user = await unlink('a', ways)
  expect(user?.sessionGeneration).toBe(unlinks ? 1 : undefined)
})
