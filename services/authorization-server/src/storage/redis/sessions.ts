import { createLatestKeeper } from './keep-latest.js'
import type { RecordAuthentication } from './record-authentication.js'
import { type Redis, reached } from './redis.js'

/** A signed-in browser. The session has ended if one of the user's generations is higher. */
export type SessionRecord = {
  userId: string
  userGeneration: number
  sessionGeneration: number
  /** Milliseconds since 1970. */
  signedInAt: number
}

/** Per user. A new session ends the oldest. */
const MOST_SESSIONS = 100

/** From the last sign-in; longer than any session lasts. */
const LIST_SECONDS = 8 * 86_400

/**
 * Sessions in Redis, under the hash of their id; only the browser's cookie contains the id. A list per user limits their number,
 * so that repeated sign-ins cannot fill Redis. Each record has a MAC, so that write access to Redis is not enough to sign in.
 */
export function createSessionStore(redis: Redis, records: RecordAuthentication) {
  const keepLatest = createLatestKeeper(redis, MOST_SESSIONS, LIST_SECONDS)

  return {
    async open(hash: string, record: SessionRecord, lifetimeSeconds: number): Promise<void> {
      // The list first: a session that is in no list would not be counted.
      const dropped = await keepLatest(listKey(record.userId), hash)
      await Promise.all(dropped.map((oldest) => reached(redis.del(key(oldest)))))
      const protectedRecord = records.protect(key(hash), JSON.stringify(record))
      await reached(redis.set(key(hash), protectedRecord, 'EX', lifetimeSeconds))
    },
    /** Reads the session and extends its idle time, in one command. */
    async findAndExtend(hash: string, lifetimeSeconds: number): Promise<SessionRecord | undefined> {
      const stored = await reached(redis.getex(key(hash), 'EX', lifetimeSeconds))
      const content = stored === null ? undefined : records.open(key(hash), stored)
      return content === undefined ? undefined : (JSON.parse(content) as SessionRecord)
    },
    async close(userId: string, hash: string): Promise<void> {
      await reached(redis.del(key(hash)))
      await reached(redis.lrem(listKey(userId), 0, hash))
    }
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

const key = (hash: string): string => `vk:session:${hash}`
const listKey = (userId: string): string => `vk:sessions:${userId}`
