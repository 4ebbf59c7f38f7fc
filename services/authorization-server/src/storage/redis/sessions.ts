import { createLatestKeeper } from './keep-latest.js'
import type { RecordAuthentication } from './record-authentication.js'
import { type Redis, reached } from './redis.js'

/** A session that began at a provider. */
export type ProviderSession = {
  issuer: string
  subject: string
  /** Session id at the provider (Back-Channel Logout 1.0 §2.1). */
  sid?: string | undefined
  /** `iat` of the ID token, in seconds. */
  issuedAt: number
  /** When the browser left for the provider, in milliseconds on our clock: the ID token is not older. */
  startedAt: number
}

/** How the user of a session signed in. */
export type SessionWay =
  | { kind: 'password' }
  | { kind: 'passkey' }
  /** An invitation or a reset link. */
  | { kind: 'link' }
  | ({ kind: 'provider'; id: string } & ProviderSession)
  | { kind: 'handoff'; issuer: string; subject: string }

/** A signed-in browser. The session has ended if one of the user's generations is higher. */
export type SessionRecord = {
  userId: string
  userGeneration: number
  sessionGeneration: number
  way: SessionWay
  /** Milliseconds since 1970, as all times here. */
  signedInAt: number
  /** When the user last gave a password, passkey or the like. Undefined if a provider does not say it. */
  authenticatedAt?: number | undefined
  /** The session ends then, even if it is in use. */
  endsAt: number
  /** Browser and system, for the list of the user's sessions. */
  browser: string
  /** ID token of the provider, encrypted with the id of the session. Only if the provider can end its session, too. */
  encryptedIdToken?: string | undefined
}

/** A session in the list of a user. */
export type ListedSession = { hash: string; record: SessionRecord; lastSeenSecondsAgo: number }

/** Whether the way to sign in has ended the sessions that began there. */
export type SessionCheck = (way: SessionWay) => boolean | Promise<boolean>

/** The limit of each user. A new session ends the oldest. */
const MOST_SESSIONS = 100

/** The time from the last sign-in; longer than any session lasts. */
const LIST_SECONDS = 8 * 86_400

/** A session that is not used for this time ends. */
const IDLE_SECONDS = 12 * 3600

/**
 * Sessions in Redis, under the hash of their id; only the browser's cookie contains the id. A list per user limits their number,
 * so that repeated sign-ins cannot fill Redis. Each record has a MAC, so that write access to Redis is not enough to sign in.
 */
export function createSessionStore(redis: Redis, records: RecordAuthentication, hasEnded: SessionCheck) {
  const keepLatest = createLatestKeeper(redis, MOST_SESSIONS, LIST_SECONDS)

  async function read(hash: string, stored: string | null): Promise<SessionRecord | undefined> {
    const content = stored === null ? undefined : records.open(key(hash), stored)
    if (content === undefined) return undefined
    const record = JSON.parse(content) as SessionRecord
    return (await hasEnded(record.way)) ? undefined : record
  }

  return {
    async open(hash: string, record: SessionRecord): Promise<void> {
      // The list first: a session that is in no list would not be counted.
      const dropped = await keepLatest(listKey(record.userId), hash)
      await Promise.all(dropped.map((oldest) => reached(redis.del(key(oldest)))))
      const protectedRecord = records.protect(key(hash), JSON.stringify(record))
      await reached(redis.set(key(hash), protectedRecord, 'EX', IDLE_SECONDS))
    },
    /**
     * Reads the session and extends its idle time, in one command. A record under an older key is written again, so that a
     * session in use survives the removal of that key.
     */
    async findAndExtend(hash: string): Promise<SessionRecord | undefined> {
      const stored = await reached(redis.getex(key(hash), 'EX', IDLE_SECONDS))
      const record = await read(hash, stored)
      if (record !== undefined && stored !== null && records.isOutdated(key(hash), stored)) {
        const renewed = records.protect(key(hash), JSON.stringify(record))
        // XX: a session that was closed meanwhile stays closed.
        await reached(redis.set(key(hash), renewed, 'EX', IDLE_SECONDS, 'XX'))
      }
      return record
    },
    /** The newest first. The time of the last use is what is missing of the idle time. */
    async list(userId: string): Promise<readonly ListedSession[]> {
      const hashes = await reached(redis.lrange(listKey(userId), 0, -1))
      const listed = await Promise.all(
        hashes.map(async (hash) => {
          const [stored, secondsLeft] = await Promise.all([
            reached(redis.get(key(hash))),
            reached(redis.ttl(key(hash)))
          ])
          const record = await read(hash, stored)
          return record && { hash, record, lastSeenSecondsAgo: IDLE_SECONDS - secondsLeft }
        })
      )
      return listed.filter((session) => session !== undefined)
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
