import { CommandFailure } from './exit.js'

const USER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** @throws {CommandFailure} for what cannot be a user's id: a login name would own files that nobody ever sees */
export function readOwner(given: string): string {
  const ownerId = given.toLowerCase()
  if (USER_ID.test(ownerId)) return ownerId
  throw new CommandFailure('usage', '--owner must be a user_id, as "valetkey users list" shows it; not a user name')
}
