import { createLatestKeeper } from './keep-latest.js'
import type { RecordAuthentication } from './record-authentication.js'
import { type Redis, reached } from './redis.js'

/** A signed-in browser. Dead when one of the user's generations has moved on. */
export type SessionRecord = {
  userId: string
  userGeneration: number
  sessionGeneration: number
  /** Milliseconds since 1970. */
  signedInAt: number
}

/** Of one user. The oldest ends when one more is opened. */
const MOST_SESSIONS = 100

/** Counted from the last sign-in; longer than any session lives. */
const LIST_SECONDS = 8 * 86_400

/**
 * Sessions in Redis, under the hash of their id; the id itself is only in the browser's cookie. A list for each user bounds
 * how many there are: signing in again and again cannot fill Redis. Each record carries a MAC, so that nobody who can only
 * write to Redis can sign in.
 */
export function createSessionStore(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST_SESSIONS, LIST_SECONDS)

  return {
    async open(digest: string, record: SessionRecord, lifetimeSeconds: number): Promise<void> {
      // The list first: a session that no list has would not be counted.
      const dropped = await keepLatest(listKey(record.userId), digest)
      await Promise.all(dropped.map((oldest) => reached(redis.del(key(oldest)))))
      const protectedRecord = records.protect(key(digest), JSON.stringify(record))
      await reached(redis.set(key(digest), protectedRecord, 'EX', lifetimeSeconds))
    },
    /** Reads it and moves its end by idleness, in one command. */
    async findAndExtend(digest: string, lifetimeSeconds: number): Promise<SessionRecord | undefined> {
      const stored = await reached(redis.getex(key(digest), 'EX', lifetimeSeconds))
      const content = stored === null ? undefined : records.open(key(digest), stored)
      return content === undefined ? undefined : (JSON.parse(content) as SessionRecord)
    },
    async close(userId: string, digest: string): Promise<void> {
      await reached(redis.del(key(digest)))
      await reached(redis.lrem(listKey(userId), 0, digest))
    }
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

const key = (digest: string): string => `vk:session:${digest}`
const listKey = (userId: string): string => `vk:sessions:${userId}`
