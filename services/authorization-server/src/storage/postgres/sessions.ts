import { type Database, defineStatement } from '@valetkey/service-kit'
import { IS_LIVE, IS_USE_DUE, sessionKey } from './live-session.js'
import type { User } from './users.js'

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

/** A session to open. */
export type OpenedSession = {
  /** As the sign-in or the change of the account has read it. */
  user: Pick<User, 'userId' | 'generation' | 'sessionGeneration'>
  way: SessionWay
  /** Whether the user has signed in now. False if an earlier session goes on under a new id. */
  isSignIn: boolean
  /** When the user last gave a password, passkey or the like. A time after the present counts as now. */
  authenticatedAt: Date | undefined
  /** The session ends after this time, even if it is in use. */
  maxSeconds: number
  /** The end of the earlier session, if that comes first. */
  endsAt?: Date | undefined
  /** Browser and system, for the list of the user's sessions. */
  browser: string
  /** ID token of the provider, encrypted with the id of the session. Only if the provider can end its session, too. */
  encryptedIdToken?: Buffer | undefined
}

/** A session that has not ended, and its user. */
export type FoundSession = {
  userId: string
  username: string
  way: SessionWay
  authenticatedAt: Date | undefined
  endsAt: Date
  encryptedIdToken: Buffer | undefined
  /** The use is to be noted: the stored one is more than five minutes old. */
  isUseDue: boolean
}

/** A session in the list of a user. */
export type ListedSession = { hash: string; way: SessionWay; signedInAt: Date; seenAt: Date; browser: string }

/** Whether the way to sign in has ended the sessions that begin there. */
export type SessionCheck = (way: SessionWay) => boolean | Promise<boolean>

type FoundRow = {
  user_id: string
  username: string
  way: SessionWay
  authenticated_at: Date | null
  ends_at: Date
  encrypted_id_token: Buffer | null
  is_use_due: boolean
}

/**
 * The lock of the user makes an opening and an ending of all sessions take effect one after the other. The ending raises one of
 * the numbers and deletes the rows. So the opening finds another number than the sign-in has read, or the ending finds its row.
 */
const open = <const Owner extends string>(name: string, owner: Owner) =>
  defineStatement(
    name,
    `with owner as (${owner})
    insert into sessions (session_hash, user_id, way, signed_in_at, authenticated_at, ends_at, seen_at, browser,
      encrypted_id_token)
    select ${sessionKey(':sessionHash')}, user_id, :way::jsonb, now(),
      case when :authenticatedAt::timestamptz > now() then now() else :authenticatedAt::timestamptz end,
      least(now() + make_interval(secs => :maxSeconds), :endsAt::timestamptz), now(), :browser, :encryptedIdToken::bytea
    from owner returning 1 as opened` as const
  )

const AS_READ = `user_id = :userId and generation = :generation and session_generation = :sessionGeneration
      and disabled_at is null` as const

const openAtSignIn = open(
  'open_session',
  `update users set last_signed_in_at = now() where ${AS_READ} returning user_id` as const
)

const reopen = open('reopen_session', `select user_id from users where ${AS_READ} for no key update` as const)

const close = defineStatement(
  'close_session',
  `delete from sessions where session_hash = ${sessionKey(':sessionHash')}`
)

/**
 * Sessions, under the hash of their id; only the browser's cookie contains the id. A session is its row (ADR 0048): what ends it
 * deletes the row.
 * @param hasEnded asked once the row is stored
 */
export function createSessionStore(database: Database, hasEnded: SessionCheck) {
  async function closeOne(hash: string): Promise<void> {
    await database.query(close({ sessionHash: hash }))
  }

  async function insert(hash: string, session: OpenedSession): Promise<boolean> {
    const { user, way, isSignIn, authenticatedAt, maxSeconds, endsAt, browser, encryptedIdToken } = session
    const statement = (isSignIn ? openAtSignIn : reopen)({
      sessionHash: hash,
      userId: user.userId,
      generation: user.generation,
      sessionGeneration: user.sessionGeneration,
      way: JSON.stringify(way),
      authenticatedAt,
      maxSeconds,
      endsAt,
      browser,
      encryptedIdToken
    })
    return (await database.query(statement)).length > 0
  }

  return {
    /**
     * Opens a session, and notes a sign-in (`SIGN_IN_AT_LEAST_EVERY`). At most 100 of a user stay; the oldest ends.
     * @returns false if all sessions of the user have ended since the user was read, or the user is disabled, or the way to sign in
     *   has ended its sessions. Then there is no session
     */
    async open(hash: string, session: OpenedSession): Promise<boolean> {
      if (!(await insert(hash, session))) return false
      try {
        // Afterwards: an ending that this check does not see yet comes later, and finds the row.
        if (!(await hasEnded(session.way))) return true
      } catch (error) {
        // The browser gets no cookie.
        await closeOne(hash).catch(() => {})
        throw error
      }
      await closeOne(hash)
      return false
    },

    /** The session and its user, in one statement. @returns undefined if the session has ended, or its user is disabled */
    async find(hash: string): Promise<FoundSession | undefined> {
      const rows = await database.query<FoundRow>({
        name: 'find_session',
        text: `select s.user_id, u.username, s.way, s.authenticated_at, s.ends_at, s.encrypted_id_token,
            ${IS_USE_DUE} as is_use_due
          from sessions s join users u on u.user_id = s.user_id and u.disabled_at is null
          where s.session_hash = ${sessionKey('$1')} and ${IS_LIVE}`,
        values: [hash]
      })
      return rows.map(toFound)[0]
    },

    /** The sessions of a user that have not ended, the newest first. */
    async list(userId: string): Promise<readonly ListedSession[]> {
      const rows = await database.query<{
        session_hash: Buffer
        way: SessionWay
        signed_in_at: Date
        seen_at: Date
        browser: string
      }>({
        name: 'list_sessions',
        text: `select s.session_hash, s.way, s.signed_in_at, s.seen_at, s.browser from sessions s
          where s.user_id = $1 and ${IS_LIVE} order by s.signed_in_at desc, s.session_hash`,
        values: [userId]
      })
      return rows.map(({ session_hash, way, signed_in_at: signedInAt, seen_at: seenAt, browser }) => {
        return { hash: session_hash.toString('base64url'), way, signedInAt, seenAt, browser }
      })
    },

    /** Ends one session. */
    close: closeOne,

    /**
     * Writes when sessions were used, each at most every five minutes. A time after the present counts as now. Rows that are locked
     * are left out: they end, or their use is written at this moment.
     * @param uses by hash
     */
    async noteUse(uses: ReadonlyMap<string, Date>): Promise<void> {
      await database.query({
        name: 'note_session_use',
        text: `with used as (
            select s.session_hash, least(u.used_at, now()) as used_at
            from unnest($1::text[], $2::timestamptz[]) u (hash, used_at)
            join sessions s on s.session_hash = ${sessionKey('u.hash')}
            where s.seen_at < least(u.used_at, now()) - interval '5 minutes'
              and s.seen_at > least(u.used_at, now()) - interval '12 hours'
            for no key update of s skip locked)
          update sessions s set seen_at = used.used_at from used where s.session_hash = used.session_hash`,
        values: [[...uses.keys()], [...uses.values()]]
      })
    }
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

function toFound(row: FoundRow): FoundSession {
  return {
    userId: row.user_id,
    username: row.username,
    way: row.way,
    authenticatedAt: row.authenticated_at ?? undefined,
    endsAt: row.ends_at,
    encryptedIdToken: row.encrypted_id_token ?? undefined,
    isUseDue: row.is_use_due
  }
}
