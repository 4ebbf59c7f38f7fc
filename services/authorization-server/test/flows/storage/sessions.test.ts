import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import pg from 'pg'
import { hashId, newRandomId } from '../../../src/browser/session/random-id.js'
import { createExpiredRows } from '../../../src/storage/postgres/expired-rows.js'
import { createOwnSessionStore } from '../../../src/storage/postgres/own-sessions.js'
import { createSessionStore, type SessionStore } from '../../../src/storage/postgres/sessions.js'
import { createUserStore, type User, type UserStore } from '../../../src/storage/postgres/users.js'
import { NOTE } from '../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../support/migrated-database.js'
import { atTime } from '../../support/postgres-clock.js'
import { openSessionOf, signInOf } from '../../support/sessions.js'
import { untilBlocked } from '../../support/until-blocked.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let opened: MigratedDatabase
let users: UserStore
let sessions: SessionStore
let user: User

beforeAll(async () => {
  opened = await createMigratedDatabase()
  users = createUserStore(opened.database)
  sessions = createSessionStore(opened.database, () => false)
})
beforeEach(async () => {
  user = await newUser()
})
afterEach(() => opened.run('delete from users'))
afterAll(() => opened.close())

async function newUser(): Promise<User> {
  const userId = randomUUID()
  const created = await users.create({ userId, username: userId, passwordHash: 'hash' }, NOTE)
  if (created === undefined) throw new Error('not created')
  return created
}

const newHash = () => hashId(newRandomId())
const open = () => openSessionOf(opened.database, user.userId)
const later = (ms: number) => createSessionStore(atTime(opened.database, new Date(Date.now() + ms)), () => false)
const usedAt = (ms: number, ...hashes: string[]) => new Map(hashes.map((hash) => [hash, new Date(Date.now() + ms)]))
const listed = async () => (await sessions.list(user.userId)).map(({ hash }) => hash)

/** The times of a stored session, relative to its sign-in. */
async function timesOf(hash: string) {
  const [row] = await opened.run<{ lasts: number; confirmed: number | null; signed_in_at: Date }>(
    `select extract(epoch from ends_at - signed_in_at)::float as lasts, signed_in_at,
      extract(epoch from authenticated_at - signed_in_at)::float as confirmed from sessions where session_hash = $1`,
    [Buffer.from(hash, 'base64url')]
  )
  return row
}

describe('an opened session', () => {
  test('is found with its user, only under its hash, and is signed in at the time of Postgres', async () => {
    const hash = newHash()
    const way = { kind: 'handoff', issuer: 'https://login.example', subject: 'u-1' } as const
    const encryptedIdToken = Buffer.from('encrypted')
    const authenticatedAt = new Date(Date.now() - 1_000)
    expect(await sessions.open(hash, signInOf(user, { way, authenticatedAt, encryptedIdToken }))).toBe(true)
    expect(await sessions.find(hash)).toEqual({
      userId: user.userId,
      username: user.username,
      way,
      authenticatedAt,
      endsAt: expect.any(Date),
      encryptedIdToken,
      isUseDue: false
    })
    expect(await sessions.find(newHash())).toBeUndefined()
  })

  test('notes the sign-in of its user; a session that goes on under another id does not', async () => {
    await sessions.open(newHash(), signInOf(user, { isSignIn: false }))
    expect((await users.findById(user.userId))?.lastSignedInAt).toBeUndefined()
    await sessions.open(newHash(), signInOf(user))
    expect((await users.findById(user.userId))?.lastSignedInAt).toEqual(expect.any(Date))
  })

  test.each([
    { name: 'the longest time', change: { maxSeconds: 60 }, lasts: 60 },
    { name: 'the end of the session that goes on, if that comes first', change: { endsAt: 30 }, lasts: 30 },
    { name: 'the longest time, if that comes first', change: { maxSeconds: 60, endsAt: 90 }, lasts: 60 }
  ])('ends after $name', async ({ change: { endsAt, ...change }, lasts }) => {
    const hash = newHash()
    const end = endsAt === undefined ? {} : { endsAt: new Date(Date.now() + endsAt * 1_000) }
    await sessions.open(hash, signInOf(user, { ...change, ...end }))
    expect((await timesOf(hash))?.lasts).toBeCloseTo(lasts, -1)
  })

  test('of a process whose clock is 400 days ahead is no longer and no fresher than another', async () => {
    const hash = newHash()
    const ahead = new Date(Date.now() + 400 * DAY)
    await sessions.open(hash, signInOf(user, { authenticatedAt: ahead, endsAt: ahead }))
    expect(await timesOf(hash)).toMatchObject({ lasts: 604_800, confirmed: 0 })
  })

  test('ends with its row, which is deleted with its user', async () => {
    const [one, other] = [await open(), await open()]
    await sessions.close(one)
    await sessions.close(one)
    expect([await sessions.find(one), await listed()]).toEqual([undefined, [other]])
    await users.delete(user.userId, NOTE)
    expect(await opened.run('select 1 from sessions')).toEqual([])
  })
})

describe('the times of a session', () => {
  test('it ends at its absolute end, though it is in use', async () => {
    const hash = await open()
    await opened.run(`update sessions set seen_at = now() + interval '7 days'`)
    expect(await later(7 * DAY - 60_000).find(hash)).toBeDefined()
    expect(await later(7 * DAY).find(hash)).toBeUndefined()
    expect(await later(7 * DAY).list(user.userId)).toEqual([])
  })

  test('it ends 12 hours after the last use that was noted', async () => {
    const hash = await open()
    // Written an hour later: the time of the use counts.
    await later(12 * HOUR).noteUse(usedAt(11 * HOUR, hash))
    expect(await later(23 * HOUR - 60_000).find(hash)).toBeDefined()
    expect(await later(23 * HOUR + 1_000).find(hash)).toBeUndefined()
    expect(await later(23 * HOUR + 1_000).list(user.userId)).toEqual([])
  })

  test('a use that is noted late does not restore a session', async () => {
    const hash = await open()
    const over = 12 * HOUR + 1_000
    await later(over).noteUse(usedAt(over, hash))
    expect(await later(over).find(hash)).toBeUndefined()
  })

  test('a use is due, and written, only five minutes after the last one', async () => {
    const hash = await open()
    const seenAt = async () => (await sessions.list(user.userId))[0]?.seenAt.getTime() ?? 0
    const [before, soon, due] = [await seenAt(), later(299_000), later(301_000)]
    await soon.noteUse(usedAt(299_000, hash))
    expect([(await soon.find(hash))?.isUseDue, await seenAt()]).toEqual([false, before])
    expect((await due.find(hash))?.isUseDue).toBe(true)
    await due.noteUse(usedAt(301_000, hash))
    expect(await seenAt()).toBeGreaterThan(before + 300_000)
    expect((await due.find(hash))?.isUseDue).toBe(false)
  })

  test('a use of a locked row is left out, and the others are written', async () => {
    const [locked, free] = [await open(), await open()]
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from sessions where session_hash = $1 for update', [Buffer.from(locked, 'base64url')])
    await later(HOUR).noteUse(usedAt(HOUR, locked, free))
    await other.query('commit')
    await other.end()
    const isDue = async (hash: string) => (await later(HOUR).find(hash))?.isUseDue
    expect([await isDue(locked), await isDue(free)]).toEqual([true, false])
  })

  test('a use in the future, of a process with a wrong clock, counts as now', async () => {
    const hash = await open()
    await opened.run(`update sessions set seen_at = now() - interval '1 hour'`)
    await sessions.noteUse(usedAt(11 * HOUR, hash))
    expect((await sessions.list(user.userId))[0]?.seenAt.getTime()).toBeLessThan(Date.now() + 60_000)
  })
})

describe('at most 100 sessions of a user', () => {
  async function fill(count: number): Promise<string[]> {
    const hashes: string[] = []
    while (hashes.length < count) hashes.push(await open())
    return hashes
  }

  test('a new one ends the oldest; closed ones and those of others do not count', async () => {
    const other = await newUser()
    const ofOther = await openSessionOf(opened.database, other.userId)
    const [oldest = '', second = '', third = ''] = await fill(100)
    await sessions.close(third)
    await open()
    expect(await sessions.find(oldest)).toBeDefined()
    const newest = await open()
    expect([await sessions.find(oldest), (await listed()).length]).toEqual([undefined, 100])
    expect((await listed())[0]).toBe(newest)
    expect(await sessions.find(second)).toBeDefined()
    expect(await sessions.find(ofOther)).toBeDefined()
  })

  test('of 100 and 10 that open at the same moment, exactly the ten oldest end', async () => {
    const before = await fill(100)
    await Promise.all(Array.from({ length: 10 }, open))
    const left = await listed()
    expect(left).toHaveLength(100)
    expect(before.filter((hash) => !left.includes(hash))).toEqual(before.slice(0, 10))
  })
})

describe('an ending of all sessions', () => {
  type Ending = { name: string; end(): Promise<unknown> }
  const own = () => createOwnSessionStore(opened.database)

  const ENDINGS: readonly Ending[] = [
    { name: 'signing out everywhere', end: () => users.endSessions(user.userId) },
    { name: 'a password of an operator', end: () => users.setPassword(user.userId, 'new', NOTE) },
    {
      name: 'disabling and enabling the user',
      end: async () => {
        await users.disable(user.userId, NOTE)
        await users.enable(user.userId, NOTE)
      }
    },
    {
      name: 'an own new password',
      end: async () => own().changePassword({ userId: user.userId, sessionHash: await open() }, 'new')
    },
    {
      name: 'signing out all other browsers',
      end: async () => own().endOtherSessions({ userId: user.userId, sessionHash: await open() })
    },
    {
      name: 'a generation that an operator raises',
      end: () => opened.run('update users set generation = generation + 1 where user_id = $1', [user.userId])
    },
    {
      name: 'an operator who only sets disabled_at',
      end: async () => {
        await opened.run('update users set disabled_at = now() where user_id = $1', [user.userId])
        await opened.run('update users set disabled_at = null where user_id = $1', [user.userId])
      }
    }
  ]

  test.each(ENDINGS)('$name: deletes the rows of the user, and no others', async ({ end }) => {
    const other = await newUser()
    const ofOther = await openSessionOf(opened.database, other.userId)
    const hashes = [await open(), await open()]
    await end()
    expect(await Promise.all(hashes.map((hash) => sessions.find(hash)))).toEqual([undefined, undefined])
    expect(await listed()).toEqual([])
    expect(await sessions.find(ofOther)).toBeDefined()
  })

  test.each(ENDINGS.slice(0, 6))('$name: a sign-in that read the user before opens no session', async ({ end }) => {
    const read = user
    await end()
    const hash = newHash()
    expect(await sessions.open(hash, signInOf(read))).toBe(false)
    expect([await sessions.find(hash), await listed()]).toEqual([undefined, []])
    const now = await users.findById(user.userId)
    expect(await sessions.open(hash, signInOf(now as User))).toBe(true)
  })

  test('a session of a disabled user is not found, and changes nothing, even if its row was not deleted', async () => {
    const sessionHash = await open()
    await opened.run('alter table users disable trigger end_sessions')
    await opened.run('update users set disabled_at = now()')
    await opened.run('alter table users enable trigger end_sessions')
    expect(await sessions.find(sessionHash)).toBeUndefined()
    expect(await own().changePassword({ userId: user.userId, sessionHash }, 'new')).toBeUndefined()
  })

  test('a disabled user opens no session', async () => {
    await opened.run('update users set disabled_at = now()')
    expect(await sessions.open(newHash(), signInOf(user))).toBe(false)
  })

  const OPENINGS = [
    { name: 'a sign-in', isSignIn: true },
    { name: 'a session that goes on under another id', isSignIn: false }
  ]

  test.each(OPENINGS)('that waits for the opening of $name finds its row', async ({ isSignIn }) => {
    const other = await connect()
    const hash = newHash()
    await other.query('begin')
    expect(await createSessionStore(overOne(other), () => false).open(hash, signInOf(user, { isSignIn }))).toBe(true)
    const ending = users.endSessions(user.userId)
    await untilBlocked(opened.run)
    await other.query('commit')
    await ending
    await other.end()
    expect(await sessions.find(hash)).toBeUndefined()
  })

  test.each(OPENINGS)('for which the opening of $name waits leaves no session', async ({ isSignIn }) => {
    const other = await connect()
    const hash = newHash()
    await other.query('begin')
    await createUserStore(overOne(other)).endSessions(user.userId)
    const opening = sessions.open(hash, signInOf(user, { isSignIn }))
    await untilBlocked(opened.run)
    await other.query('commit')
    expect(await opening).toBe(false)
    await other.end()
    expect(await listed()).toEqual([])
  })

  test.each(['changePassword', 'endOtherSessions'] as const)(
    'an own change (%s) that waits for another ending changes nothing',
    async (change) => {
      const session = { userId: user.userId, sessionHash: await open() }
      const other = await connect()
      await other.query('begin')
      await createUserStore(overOne(other)).endSessions(user.userId)
      const changing = own()[change](session, 'new')
      await untilBlocked(opened.run)
      await other.query('commit')
      expect(await changing).toBeUndefined()
      await other.end()
      const [row] = await opened.run('select password_hash, session_generation from users')
      expect(row).toEqual({ password_hash: 'hash', session_generation: 1 })
    }
  )

  test.each(['changePassword', 'endOtherSessions'] as const)(
    'an own change (%s) in a session that was signed out alone changes nothing',
    async (change) => {
      const [sessionHash, kept] = [await open(), await open()]
      await sessions.close(sessionHash)
      expect(await own()[change]({ userId: user.userId, sessionHash }, 'new')).toBeUndefined()
      expect(await listed()).toEqual([kept])
    }
  )

  test('an own change in a session of another user changes nothing', async () => {
    const sessionHash = await open()
    const other = await newUser()
    expect(await own().changePassword({ userId: other.userId, sessionHash }, 'new')).toBeUndefined()
  })
})

describe('the way to sign in has ended its sessions', () => {
  const over = (hasEnded: () => boolean | Promise<boolean>) => createSessionStore(opened.database, hasEnded)

  test('no session is left', async () => {
    const hash = newHash()
    expect(await over(() => true).open(hash, signInOf(user))).toBe(false)
    expect(await listed()).toEqual([])
  })

  test('the row is stored before it is asked: a later ending finds it', async () => {
    const hash = newHash()
    let found: unknown
    const isOpen = await over(async () => {
      found = await sessions.find(hash)
      return false
    }).open(hash, signInOf(user))
    expect([isOpen, found !== undefined]).toEqual([true, true])
  })

  test('it cannot be asked: no session is left', async () => {
    const failing = over(async () => {
      throw new Error('Redis does not respond')
    })
    await expect(failing.open(newHash(), signInOf(user))).rejects.toThrow('Redis does not respond')
    expect(await listed()).toEqual([])
  })
})

test('housekeeping deletes sessions after their absolute end, and says when more are likely', async () => {
  const [ended, kept] = [await open(), await open()]
  await opened.run(`update sessions set ends_at = now() - interval '1 second' where session_hash = $1`, [
    Buffer.from(ended, 'base64url')
  ])
  expect(await createExpiredRows(opened.database).deleteSome()).toBe(false)
  const left = await opened.run<{ session_hash: Buffer }>('select session_hash from sessions')
  expect(left.map(({ session_hash }) => session_hash.toString('base64url'))).toEqual([kept])
  // One more than a batch; without the trigger, which would keep 100.
  await opened.run('alter table sessions disable trigger end_oldest_sessions')
  await opened.run(
    `insert into sessions (session_hash, user_id, way, signed_in_at, ends_at, seen_at, browser)
    select sha256(n::text::bytea), $1, '{}', now() - interval '8 days', now(), now(), '' from generate_series(1, 1001) n`,
    [user.userId]
  )
  await opened.run('alter table sessions enable trigger end_oldest_sessions')
  expect(await createExpiredRows(opened.database).deleteSome()).toBe(true)
  expect(await opened.run('select 1 from sessions')).toHaveLength(2)
  expect(await createExpiredRows(opened.database).deleteSome()).toBe(false)
  expect(await opened.run('select 1 from sessions')).toHaveLength(1)
})

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: opened.url })
  await client.connect()
  return client
}

/** Statements on one connection, inside of its transaction. */
function overOne(client: pg.Client): Database {
  return {
    query: async ({ text, values }) => (await client.query(text, [...values])).rows,
    close: async () => {}
  }
}
