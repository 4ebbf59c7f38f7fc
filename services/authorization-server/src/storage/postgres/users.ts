import { type Database, defineStatement } from '@valetkey/service-kit'
import { type CanonicalName, canonicalName, userNameKey } from '@valetkey/sign-in-rules'
import { type AuditNote, createAudited, defineChange } from './audited.js'
import type { Page } from './page.js'

export type User = {
  userId: string
  username: string
  /** Tokens with an older number have ended. */
  generation: number
  /** A sign-in that read an older number opens no session. */
  sessionGeneration: number
  createdAt: Date
  disabled: boolean
  /** The name that an identity provider gives. */
  displayName: string | undefined
  email: string | undefined
  lastSignedInAt: Date | undefined
}

export type UserRow = {
  user_id: string
  username: string
  generation: number
  session_generation: number
  created_at: Date
  disabled_at: Date | null
  display_name: string | null
  email: string | null
  last_signed_in_at: Date | null
}

export const USER_COLUMNS = `users.user_id, username, generation, session_generation, users.created_at, disabled_at,
  display_name, email, last_signed_in_at`

export function createUserStore(database: Database) {
  return { ...findUsers(database), ...changeUsers(database) }
}

export type UserStore = ReturnType<typeof createUserStore>

function findUsers(database: Database) {
  return {
    /** Lists users by name, without regard to case. @param page.after the last username of the previous page */
    async list({ after = '', limit }: Page): Promise<User[]> {
      const rows = await database.query<UserRow>({
        name: 'list_users',
        text: `select ${USER_COLUMNS} from users where canonical_name > $1 order by canonical_name limit $2`,
        values: [canonicalName(after), limit]
      })
      return rows.map(toUser)
    },

    async findByName(name: CanonicalName): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_user_by_name',
        text: `select ${USER_COLUMNS} from users where canonical_name = $1`,
        values: [name]
      })
      return rows.map(toUser)[0]
    },

    async findById(userId: string): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_user_by_id',
        text: `select ${USER_COLUMNS} from users where user_id = $1`,
        values: [userId]
      })
      return rows.map(toUser)[0]
    },

    /** No other query but `findForSignIn` returns the hash of a password. */
    async findWithPassword(name: CanonicalName): Promise<UserWithPassword | undefined> {
      const rows = await database.query<UserRow & { password_hash: string | null }>({
        name: 'find_user_with_password',
        text: `select ${USER_COLUMNS}, password_hash from users where canonical_name = $1`,
        values: [name]
      })
      return rows.map(withPassword)[0]
    },

    /**
     * The user, and the password hash of another user as a decoy: a name that does not exist then costs as much time as the
     * names that exist, also while some have imported hashes (ADR 0028). Always the same work, whether the user exists or not.
     * @param decoyAt any UUID; the decoy is of the user with the next id
     */
    async findForSignIn(name: CanonicalName, decoyAt: string): Promise<UserForSignIn> {
      const rows = await database.query<{
        user_id: string | null
        password_hash: string | null
        decoy_hash: string | null
      }>({
        name: 'find_user_for_sign_in',
        text: `select ${USER_COLUMNS}, users.password_hash, decoy.password_hash as decoy_hash
          from (values (1)) always (one) left join users on users.canonical_name = $1
          left join (select password_hash from users where user_id >= $2 order by user_id limit 1) decoy on true`,
        values: [name, decoyAt]
      })
      const row = rows[0]
      const found = row === undefined || row.user_id === null ? undefined : (row as UserRow & typeof row)
      return { found: found && withPassword(found), decoyHash: row?.decoy_hash ?? undefined }
    }
  }
}

type UserWithPassword = { user: User; passwordHash: string | undefined }

type UserForSignIn = { found: UserWithPassword | undefined; decoyHash: string | undefined }

function withPassword(row: UserRow & { password_hash: string | null }): UserWithPassword {
  return { user: toUser(row), passwordHash: row.password_hash ?? undefined }
}

const createUser = defineChange(
  'create_user',
  `changed as (
    insert into users (user_id, username, canonical_name, name_key, password_hash, email, created_at)
    values (:userId, :username, :canonicalName, :nameKey, :passwordHash, :email, now()) returning ${USER_COLUMNS})`,
  { result: 'select * from changed' }
)

/** A link that an operator gave is not needed any more. */
const END_LINKS = 'ended_links as (delete from account_links where user_id = :userId)'

const disableUser = defineChange(
  'disable_user',
  `changed as (
    update users set disabled_at = now(), generation = generation + 1
    where user_id = :userId and disabled_at is null returning ${USER_COLUMNS}),
  ${END_LINKS}`,
  { result: 'select * from changed' }
)

const enableUser = defineChange(
  'enable_user',
  `changed as (
    update users set disabled_at = null where user_id = :userId and disabled_at is not null returning ${USER_COLUMNS})`,
  { result: 'select * from changed' }
)

const setPassword = defineChange(
  'set_password',
  `changed as (
    update users set password_hash = :passwordHash, generation = generation + 1
    where user_id = :userId returning ${USER_COLUMNS}),
  ${END_LINKS}`,
  { result: 'select * from changed' }
)

const deleteUser = defineChange(
  'delete_user',
  `changed as (delete from users where user_id = :userId returning ${USER_COLUMNS})`,
  { result: 'select * from changed' }
)

const replacePasswordHash = defineStatement(
  'replace_password_hash',
  'update users set password_hash = :to where user_id = :userId and password_hash = :from'
)

function changeUsers(database: Database) {
  return {
    /** @returns undefined if a user has this name, also in another spelling */
    async create(
      user: { userId: string; username: string; passwordHash: string | undefined; email?: string | undefined },
      note: AuditNote
    ): Promise<User | undefined> {
      const { userId, username, passwordHash, email } = user
      const names = { username, canonicalName: canonicalName(username), nameKey: userNameKey(username) }
      const statement = createUser({ userId, ...names, passwordHash, email }, note)
      return (await createAudited<UserRow>(database, statement)).map(toUser)[0]
    },

    /** Disables a user, and ends all sessions, tokens and links. @returns undefined if there is no enabled user with that id */
    async disable(userId: string, note: AuditNote): Promise<User | undefined> {
      return (await database.query<UserRow>(disableUser({ userId }, note))).map(toUser)[0]
    },

    /** @returns undefined if there is no disabled user with that id */
    async enable(userId: string, note: AuditNote): Promise<User | undefined> {
      return (await database.query<UserRow>(enableUser({ userId }, note))).map(toUser)[0]
    },

    /** Changes a password, and ends all sessions, tokens and links. @returns undefined if there is no user with that id */
    async setPassword(userId: string, passwordHash: string, note: AuditNote): Promise<User | undefined> {
      return (await database.query<UserRow>(setPassword({ userId, passwordHash }, note))).map(toUser)[0]
    },

    /**
     * Tokens end as well, because introspection joins the user.
     * @returns the user before the deletion; undefined if there is no user with that id
     */
    async delete(userId: string, note: AuditNote): Promise<User | undefined> {
      return (await database.query<UserRow>(deleteUser({ userId }, note))).map(toUser)[0]
    },

    /** Stores a hash with new parameters, unless the password was changed meanwhile. */
    async replacePasswordHash(userId: string, { from, to }: { from: string; to: string }): Promise<void> {
      await database.query(replacePasswordHash({ userId, from, to }))
    },

    /** Ends every session of a user, in every browser. A trigger deletes their rows (ADR 0014). */
    async endSessions(userId: string): Promise<void> {
      await database.query({
        name: 'end_sessions',
        text: 'update users set session_generation = session_generation + 1 where user_id = $1',
        values: [userId]
      })
    }
  }
}

export function toUser(row: UserRow): User {
  return {
    userId: row.user_id,
    username: row.username,
    generation: row.generation,
    sessionGeneration: row.session_generation,
    createdAt: row.created_at,
    disabled: row.disabled_at !== null,
    displayName: row.display_name ?? undefined,
    email: row.email ?? undefined,
    lastSignedInAt: row.last_signed_in_at ?? undefined
  }
}
