import type { Author } from '../../operator/use-cases/actor.js'
import { findUser } from '../../operator/use-cases/administer-users.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { UserAccessStore } from './user-access-store.js'

export type UserAccessAdministration = {
  users: Pick<UserStore, 'findById'>
  userAccess: UserAccessStore
}

/**
 * Ends all sessions, codes, grants and tokens of a user, who may sign in again. It may be repeated: what the user got meanwhile ends as
 * well.
 * @throws {AdministrationError} `not_found`
 */
export async function endUserAccess(userId: string, author: Author, deps: UserAccessAdministration): Promise<User> {
  const user = await findUser(userId, deps)
  const { username } = user
  const event = { event: 'user_access_ended', userId, details: { username } } as const
  const isEnded = await recordChange(event, author, (note) => deps.userAccess.end(userId, note))
  // Deleted meanwhile: the access has ended as well.
  return isEnded ? user : findUser(userId, deps)
}
