import { CommandFailure } from './exit.js'

const USER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** @throws {CommandFailure} for anything but a user id: files owned by a username would never be listed */
export function readOwner(given: string): string {
  const ownerId = given.toLowerCase()
  if (USER_ID.test(ownerId)) return ownerId
  throw new CommandFailure('usage', '--owner must be a user_id, as "valetkey users list" shows it; not a user name')
}
