import { type Database, isUniqueViolation } from '@valetkey/service-kit'

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
  return {
    /** @returns false when the user name is taken */
    async create(user: { userId: string; username: string; passwordHash: string; createdAt: Date }): Promise<boolean> {
      try {
        await database.query({
          name: 'create_user',
          text: 'insert into users (user_id, username, password_hash, created_at) values ($1, $2, $3, $4)',
          values: [user.userId, user.username, user.passwordHash, user.createdAt]
        })
        return true
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },

    async list(): Promise<User[]> {
      const rows = await database.query<UserRow>({
        name: 'list_users',
        text: `select ${COLUMNS} from users order by username`,
        values: []
      })
      return rows.map(toUser)
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
