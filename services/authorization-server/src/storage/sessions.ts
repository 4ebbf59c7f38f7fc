import { type Redis, reached } from './redis.js'

/** A signed-in browser. Dead when one of the user's generations has moved on. */
export type SessionRecord = {
  userId: string
  userGeneration: number
  sessionGeneration: number
  /** Milliseconds since 1970. */
  signedInAt: number
}

/** Sessions in Redis, under the hash of their id; the id itself is only in the browser's cookie. */
export function createSessionStore(redis: Redis) {
  return {
    async open(digest: string, record: SessionRecord, lifetimeSeconds: number): Promise<void> {
      await reached(redis.set(key(digest), JSON.stringify(record), 'EX', lifetimeSeconds))
    },
    /** Reads it and moves its end by idleness, in one command. */
    async findAndExtend(digest: string, lifetimeSeconds: number): Promise<SessionRecord | undefined> {
      const stored = await reached(redis.getex(key(digest), 'EX', lifetimeSeconds))
      return stored === null ? undefined : (JSON.parse(stored) as SessionRecord)
    },
    async close(digest: string): Promise<void> {
      await reached(redis.del(key(digest)))
    }
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

const key = (digest: string): string => `vk:session:${digest}`
