import type { Database } from '@valetkey/service-kit'
import { hashId, newRandomId } from '../../src/browser/session/random-id.js'
import { createSessionStore, type OpenedSession } from '../../src/storage/postgres/sessions.js'
import { createUserStore } from '../../src/storage/postgres/users.js'
import { COOKIES, type TestServer } from './authorization-server.js'
import type { Browser } from './browser.js'

/** The hash of the session of a browser, under which it is stored. */
export function sessionHashOf({ cookies }: Pick<Browser, 'cookies'>): string {
  return hashId(cookies.get(COOKIES.session) ?? '')
}

/** The number of stored sessions. */
export async function countSessions({ database }: Pick<TestServer, 'database'>): Promise<number> {
  const text = 'select count(*)::integer as count from sessions'
  return (await database.query<{ count: number }>({ name: 'test_count_sessions', text, values: [] }))[0]?.count ?? 0
}

/** A user who signs in now with a password. */
export function signInOf(user: OpenedSession['user'], change: Partial<OpenedSession> = {}): OpenedSession {
  return {
    user,
    way: { kind: 'password' },
    isSignIn: true,
    authenticatedAt: new Date(),
    maxSeconds: 604_800,
    browser: 'Firefox, Linux',
    ...change
  }
}

/** Opens a session of a user. @returns its hash */
export async function openSessionOf(database: Database, userId: string): Promise<string> {
  const user = await createUserStore(database).findById(userId)
  if (user === undefined) throw new Error(`no user ${userId}`)
  const hash = hashId(newRandomId())
  const isOpen = await createSessionStore(database, () => false).open(hash, signInOf(user))
  if (!isOpen) throw new Error(`user ${userId} cannot open a session`)
  return hash
}
