import type { Database } from '@valetkey/service-kit'
import { type AuditNote, audited, createAudited } from './audited.js'
import type { Page } from './page.js'

export type User = {
  userId: string
  username: string
  /** Sessions and tokens of an older number are dead. */
  generation: number
  /** Sessions of an older number are dead; tokens live on. */
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
  /** @returns the user as it is after the change, or was before it was deleted */
  async function change(
    name: string,
    statement: string,
    values: readonly unknown[],
    note: AuditNote
  ): Promise<User | undefined> {
    const parts = `changed as (${statement} returning ${COLUMNS})`
    const result = `select ${COLUMNS} from changed`
    return (await database.query<UserRow>(audited({ name, parts, result, values }, note))).map(toUser)[0]
  }

  return {
    /** @returns the new user; undefined when the user name is taken */
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

    /** By name; those whose names come after the given one. */
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

    /** For sign-in only: the one query that returns a password's hash. */
    async findWithPassword(username: string): Promise<{ user: User; passwordHash: string } | undefined> {
      const rows = await database.query<UserRow & { password_hash: string }>({
        name: 'find_user_with_password',
        text: `select ${COLUMNS}, password_hash from users where username = $1`,
        values: [username]
      })
      return rows.map((row) => ({ user: toUser(row), passwordHash: row.password_hash }))[0]
    },

    /** Stores a hash made with newer parameters, unless the password was changed meanwhile. */
    async replacePasswordHash(userId: string, change: { from: string; to: string }): Promise<void> {
      await database.query({
        name: 'replace_password_hash',
        text: 'update users set password_hash = $3 where user_id = $1 and password_hash = $2',
        values: [userId, change.from, change.to]
      })
    },

    /** Ends all sessions and tokens as well. @returns undefined when there is no enabled user of that id */
    async disable(userId: string, note: AuditNote): Promise<User | undefined> {
      const set = 'set disabled_at = now(), generation = generation + 1 where user_id = $1 and disabled_at is null'
      return change('disable_user', `update users ${set}`, [userId], note)
    },

    /** @returns undefined when there is no disabled user of that id */
    async enable(userId: string, note: AuditNote): Promise<User | undefined> {
      const set = 'set disabled_at = null where user_id = $1 and disabled_at is not null'
      return change('enable_user', `update users ${set}`, [userId], note)
    },

    /** Ends all sessions and tokens as well. @returns undefined when there is no user of that id */
    async setPassword(userId: string, passwordHash: string, note: AuditNote): Promise<User | undefined> {
      const set = 'set password_hash = $2, generation = generation + 1 where user_id = $1'
      return change('set_password', `update users ${set}`, [userId, passwordHash], note)
    },

    /** Tokens end with the user, for introspection misses it. @returns undefined when there is no user of that id */
    async delete(userId: string, note: AuditNote): Promise<User | undefined> {
      return change('delete_user', 'delete from users where user_id = $1', [userId], note)
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

export type UserStore = ReturnType<typeof createUserStore>

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
