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
}

type UserRow = {
  user_id: string
  username: string
  generation: number
  session_generation: number
  created_at: Date
  disabled_at: Date | null
}

const COLUMNS = 'user_id, username, generation, session_generation, created_at, disabled_at'

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
        text: `select ${COLUMNS} from users where username > $1 order by username limit $2`,
        values: [after, limit]
      })
      return rows.map(toUser)
    },

    async findByName(username: string): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_user_by_name',
        text: `select ${COLUMNS} from users where username = $1`,
        values: [username]
      })
      return rows.map(toUser)[0]
    },

    async findById(userId: string): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'find_user_by_id',
        text: `select ${COLUMNS} from users where user_id = $1`,
        values: [userId]
      })
      return rows.map(toUser)[0]
    },

    /** For sign-in only: no other query returns the hash of a password. */
    async findWithPassword(username: string): Promise<{ user: User; passwordHash: string } | undefined> {
      const rows = await database.query<UserRow & { password_hash: string }>({
        name: 'find_user_with_password',
        text: `select ${COLUMNS}, password_hash from users where username = $1`,
        values: [username]
      })
      return rows.map((row) => ({ user: toUser(row), passwordHash: row.password_hash }))[0]
    }
  }
}

function changeUsers(database: Database) {
  return {
    /** @returns undefined if the username is taken */
    async create(
      user: { userId: string; username: string; passwordHash: string },
      note: AuditNote
    ): Promise<User | undefined> {
      const change = {
        name: 'create_user',
        parts: `changed as (
          insert into users (user_id, username, password_hash, created_at) values ($1, $2, $3, now()) returning ${COLUMNS})`,
        result: `select ${COLUMNS} from changed`,
        values: [user.userId, user.username, user.passwordHash]
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
  const parts = `changed as (${statement} returning ${COLUMNS})`
  const result = `select ${COLUMNS} from changed`
  return (await database.query<UserRow>(audited({ name, parts, result, values }, note))).map(toUser)[0]
}

function toUser(row: UserRow): User {
  return {
    userId: row.user_id,
    username: row.username,
    generation: row.generation,
    sessionGeneration: row.session_generation,
    createdAt: row.created_at,
    disabled: row.disabled_at !== null
  }
}
