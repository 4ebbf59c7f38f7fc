import type { Database } from '@valetkey/service-kit'
import { toUser, USER_COLUMNS, type User, type UserRow } from './users.js'

type Session = { userId: string; userGeneration: number; sessionGeneration: number }

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
      const rows = await database.query<UserRow>({
        name: 'change_password',
        text: `with ended_links as (delete from account_links where user_id = $1)
          update users set password_hash = $4, session_generation = session_generation + 1
          where user_id = $1 and generation = $2 and session_generation = $3 and disabled_at is null
          returning ${USER_COLUMNS}`,
        values: [userId, userGeneration, sessionGeneration, passwordHash]
      })
      return rows.map(toUser)[0]
    },

    /** Ends all sessions. The caller opens a new session. @returns undefined if the session has ended */
    async endOtherSessions({ userId, userGeneration, sessionGeneration }: Session): Promise<User | undefined> {
      const rows = await database.query<UserRow>({
        name: 'end_other_sessions',
        text: `update users set session_generation = session_generation + 1
          where user_id = $1 and generation = $2 and session_generation = $3 and disabled_at is null
          returning ${USER_COLUMNS}`,
        values: [userId, userGeneration, sessionGeneration]
      })
      return rows.map(toUser)[0]
    }
  }
}

export type OwnSessionStore = ReturnType<typeof createOwnSessionStore>
