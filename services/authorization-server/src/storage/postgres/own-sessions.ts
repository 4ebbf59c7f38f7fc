import { type Database, defineStatement } from '@valetkey/service-kit'
import { toUser, USER_COLUMNS, type User, type UserRow } from './users.js'

type Session = { userId: string; userGeneration: number; sessionGeneration: number }

const changePassword = defineStatement(
  'change_password',
  `with ended_links as (delete from account_links where user_id = :userId)
  update users set password_hash = :passwordHash, session_generation = session_generation + 1
  where user_id = :userId and generation = :userGeneration and session_generation = :sessionGeneration
    and disabled_at is null
  returning ${USER_COLUMNS}`
)

const endOtherSessions = defineStatement(
  'end_other_sessions',
  `update users set session_generation = session_generation + 1
  where user_id = :userId and generation = :userGeneration and session_generation = :sessionGeneration
    and disabled_at is null
  returning ${USER_COLUMNS}`
)

/** Changes by a signed-in user that end all sessions. They have no effect if the session itself has ended meanwhile. */
export function createOwnSessionStore(database: Database) {
  return {
    /**
     * Ends all sessions and links; tokens stay valid. The caller opens a new session.
     * @returns the user after the change; undefined if the session has ended
     */
    async changePassword(
      { userId, userGeneration, sessionGeneration }: Session,
      passwordHash: string
    ): Promise<User | undefined> {
      const statement = changePassword({ userId, userGeneration, sessionGeneration, passwordHash })
      return (await database.query<UserRow>(statement)).map(toUser)[0]
    },

    /** Ends all sessions. The caller opens a new session. @returns undefined if the session has ended */
    async endOtherSessions({ userId, userGeneration, sessionGeneration }: Session): Promise<User | undefined> {
      const statement = endOtherSessions({ userId, userGeneration, sessionGeneration })
      return (await database.query<UserRow>(statement)).map(toUser)[0]
    }
  }
}

export type OwnSessionStore = ReturnType<typeof createOwnSessionStore>
