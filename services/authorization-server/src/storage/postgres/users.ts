import type { Database } from '@valetkey/service-kit'
import { type AuditNote, audited, createAudited } from './audited.js'
import type { Page } from './page.js'

export type User = {
  userId: string
  username: string
  /** Sessions and tokens with an older number have ended. */
  generation: number
  /** Sessions with an older number have ended; tokens remain valid. */
  sessionGeneration: number
  createdAt: Date
  disabled: boolean
  /** As an identity provider gives it. */
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
    /** By username. @param page.after the last username of the previous page */
    async list({ after = '', limit }: Page): Promise<User[]> {
      const rows = await database.query<UserRow>({
        name: 'list_users',
        text: `select ${USER_COLUMNS} from users where username > $1 order by username limit $2`,
        values: [after, limit]
      })
      return rows.map(toUser)
    },

    async findByName(username: string): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_user_by_name',
        text: `select ${USER_COLUMNS} from users where username = $1`,
        values: [username]
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

    /** For sign-in only: no other query returns the hash of a password. */
    async findWithPassword(username: string): Promise<{ user: User; passwordHash: string | undefined } | undefined> {
      const rows = await database.query<UserRow & { password_hash: string | null }>({
        name: 'find_user_with_password',
        text: `select ${USER_COLUMNS}, password_hash from users where username = $1`,
        values: [username]
      })
      return rows.map((row) => ({ user: toUser(row), passwordHash: row.password_hash ?? undefined }))[0]
    }
  }
}

function changeUsers(database: Database) {
  return {
    /** @returns undefined if the username is taken */
    async create(
      user: { userId: string; username: string; passwordHash: string | undefined; email?: string | undefined },
      note: AuditNote
    ): Promise<User | undefined> {
      const change = {
        name: 'create_user',
        parts: `changed as (
          insert into users (user_id, username, password_hash, email, created_at) values ($1, $2, $3, $4, now()) returning ${USER_COLUMNS})`,
        result: 'select * from changed',
        values: [user.userId, user.username, user.passwordHash, user.email]
      }
      return (await createAudited<UserRow>(database, change, note)).map(toUser)[0]
    },

    /** Also ends all sessions and tokens. @returns undefined if there is no enabled user with that id */
    async disable(userId: string, note: AuditNote): Promise<User | undefined> {
      const set = 'set disabled_at = now(), generation = generation + 1 where user_id = $1 and disabled_at is null'
      return change(database, 'disable_user', `update users ${set}`, [userId], note)
    },

    /** @returns undefined if there is no disabled user with that id */
    async enable(userId: string, note: AuditNote): Promise<User | undefined> {
      const set = 'set disabled_at = null where user_id = $1 and disabled_at is not null'
      return change(database, 'enable_user', `update users ${set}`, [userId], note)
    },

    /** Also ends all sessions and tokens. @returns undefined if there is no user with that id */
    async setPassword(userId: string, passwordHash: string, note: AuditNote): Promise<User | undefined> {
      const set = 'set password_hash = $2, generation = generation + 1 where user_id = $1'
      return change(database, 'set_password', `update users ${set}`, [userId, passwordHash], note)
    },

    /** Tokens end as well, because introspection joins the user. @returns undefined if there is no user with that id */
    async delete(userId: string, note: AuditNote): Promise<User | undefined> {
      return change(database, 'delete_user', 'delete from users where user_id = $1', [userId], note)
    },

    /** Stores a hash with new parameters, unless the password was changed meanwhile. */
    async replacePasswordHash(userId: string, change: { from: string; to: string }): Promise<void> {
      await database.query({
        name: 'replace_password_hash',
        text: 'update users set password_hash = $3 where user_id = $1 and password_hash = $2',
        values: [userId, change.from, change.to]
      })
    },

    /** Notes the time for `SIGN_IN_AT_LEAST_EVERY`. */
    async noteSignIn(userId: string): Promise<void> {
      await database.query({
        name: 'note_sign_in',
        text: 'update users set last_signed_in_at = now() where user_id = $1',
        values: [userId]
      })
    },

    /** Ends every session of a user, in every browser. */
    async endSessions(userId: string): Promise<void> {
      await database.query({
        name: 'end_sessions',
        text: 'update users set session_generation = session_generation + 1 where user_id = $1',
        values: [userId]
      })
    }
  }
}

/** @returns the user after the change; for a deletion, the user before it */
async function change(
  database: Database,
  name: string,
  statement: string,
  values: readonly unknown[],
  note: AuditNote
): Promise<User | undefined> {
  const parts = `changed as (${statement} returning ${USER_COLUMNS})`
  const result = 'select * from changed'
  return (await database.query<UserRow>(audited({ name, parts, result, values }, note))).map(toUser)[0]
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
