import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { createOwnIdentityStore } from '../../../../src/features/foreign-sign-in/identities/own-identity-store.js'
import { NOTE } from '../../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'
import { openSessionOf } from '../../../support/sessions.js'
import { untilBlocked } from '../../../support/until-blocked.js'

describe('identities', () => {
  const ISSUER = 'https://login.example'
  let opened: MigratedDatabase
  let userId: string
  let sessionHash: string

  beforeAll(async () => {
    opened = await createMigratedDatabase()
  })
  beforeEach(async () => {
    userId = randomUUID()
    await opened.run('delete from users')
    await opened.run('insert into users (user_id, username, canonical_name, created_at) values ($1, $2, $2, now())', [
      userId,
      userId
    ])
    sessionHash = await openSessionOf(opened.database, userId)
  })
  afterAll(() => opened.close())

  const link = (subject: string, issuer = ISSUER) =>
    opened.run('insert into identities (issuer, subject, user_id, created_at) values ($1, $2, $3, now())', [
      issuer,
      subject,
      userId
    ])
  const unlink = (subject: string) =>
    createOwnIdentityStore(opened.database).unlink({ userId, sessionHash }, { issuer: ISSUER, subject }, NOTE)
  const subjects = async () =>
    (await opened.run('select subject from identities order by subject')).map((row) => row.subject)

  test('removes the identity and ends all sessions', async () => {
    await Promise.all([link('a'), link('b')])
    expect((await unlink('a'))?.sessionGeneration).toBe(1)
    expect(await subjects()).toEqual(['b'])
    expect(await opened.run('select 1 as one from sessions')).toEqual([])
  })

  test.each([
    { purpose: 'invitation', linked: ['a'] },
    { purpose: 'password_reset', linked: [] }
  ])('the link of purpose $purpose, used for an identity, links $linked', async ({ purpose, linked }) => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const token = createHash('sha256').update(userId).digest()
    await opened.run('insert into account_links (user_id, token_hash, purpose, expires_at) values ($1, $2, $3, $4)', [
      userId,
      token,
      purpose,
      expiresAt
    ])
    const identity = { issuer: ISSUER, subject: 'a' }
    await createOwnIdentityStore(opened.database).redeemInvitation(token.toString('base64url'), identity, NOTE)
    expect(await subjects()).toEqual(linked)
  })

  test('an identity that is not linked ends no session', async () => {
    await link('a')
    expect(await unlink('b')).toBeUndefined()
    expect(await opened.run('select session_generation from users')).toEqual([{ session_generation: 0 }])
    expect(await opened.run('select 1 as one from sessions')).toHaveLength(1)
  })

  test('waits for a parallel removal of another way to sign in, and then keeps what is left', async () => {
    await Promise.all([link('a'), link('b')])
    const other = new pg.Client({ connectionString: opened.url })
    await other.connect()
    await other.query('begin')
    // Both were decided while the user had two ways to sign in.
    await other.query('update users set session_generation = session_generation + 1')
    await other.query(`delete from identities where subject = 'a'`)
    const second = unlink('b')
    await untilBlocked(opened.run)
    await other.query('commit')
    await other.end()
    expect(await second).toBeUndefined()
    expect(await subjects()).toContain('b')
  })
})
