import { type Database, defineStatement } from '@valetkey/service-kit'
import { ACTING_USER, type ActingSession } from './live-session.js'
import { toUser, USER_COLUMNS, type User, type UserRow } from './users.js'

const changePassword = defineStatement(
  'change_password',
  `with acting as (${ACTING_USER}),
  ended_links as (delete from account_links using acting where account_links.user_id = acting.user_id)
  update users set password_hash = :passwordHash, session_generation = session_generation + 1
  from acting where users.user_id = acting.user_id
  returning ${USER_COLUMNS}`
)

const endOtherSessions = defineStatement(
  'end_other_sessions',
  `with acting as (${ACTING_USER})
  update users set session_generation = session_generation + 1
  from acting where users.user_id = acting.user_id
  returning ${USER_COLUMNS}`
)

/** Changes by a signed-in user that end all sessions. They have no effect if the session itself has ended meanwhile. */
export function createOwnSessionStore(database: Database) {
  return {
    /**
     * Ends all sessions and links; tokens stay valid. The caller opens a new session.
     * @returns the user after the change; undefined if the session has ended
     */
    async changePassword({ userId, sessionHash }: ActingSession, passwordHash: string): Promise<User | undefined> {
      const statement = changePassword({ userId, sessionHash, passwordHash })
      return (await database.query<UserRow>(statement)).map(toUser)[0]
    },

    /** Ends all sessions. The caller opens a new session. @returns undefined if the session has ended */
    async endOtherSessions({ userId, sessionHash }: ActingSession): Promise<User | undefined> {
      return (await database.query<UserRow>(endOtherSessions({ userId, sessionHash }))).map(toUser)[0]
    }
  }
}

export type OwnSessionStore = ReturnType<typeof createOwnSessionStore>
