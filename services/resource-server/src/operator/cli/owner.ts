import { CommandFailure } from './exit.js'

const USER_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * @throws {CommandFailure} for anything but a user id: files owned by a user name would never be listed. Names are in the
 * database of the authorization server, which this command does not have.
 */
export function readOwner(given: string): string {
  const ownerId = given.toLowerCase()
  if (USER_ID.test(ownerId)) return ownerId
  const command = `--owner "$(valetkey users show ${quoted(given)} --id)"`
  throw new CommandFailure('usage', `--owner must be a user id; for a user name pass ${command}`)
}

/** One word for a POSIX shell, on one line. */
function quoted(name: string): string {
  if (/^[\w.@-]+$/.test(name) && !name.startsWith('-')) return name
  return /\p{C}/u.test(name) ? 'NAME' : `'${name.replaceAll("'", "'\\''")}'`
}
