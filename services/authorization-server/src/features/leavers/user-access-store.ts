import type { Database } from '@valetkey/service-kit'
import { type AuditNote, defineChange, makeAudited } from '../../storage/postgres/audited.js'

/** Sessions, codes, grants and tokens have a copy of this number. Triggers delete the sessions and announce the end to guards. */
const endAccess = defineChange(
  'end_user_access',
  `changed as (update users set generation = generation + 1 where user_id = :userId returning user_id)`
)

export function createUserAccessStore(database: Database) {
  return {
    /**
     * Ends all sessions, codes and tokens of a user, in one write. What the user does afterwards is not affected, nor are remembered
     * consents. @returns false if there is no such user
     */
    end: (userId: string, note: AuditNote): Promise<boolean> => makeAudited(database, endAccess({ userId }, note))
  }
}

export type UserAccessStore = ReturnType<typeof createUserAccessStore>
