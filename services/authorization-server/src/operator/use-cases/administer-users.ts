import { randomUUID } from 'node:crypto'
import type { AdministrationEventName } from '../../platform/audit/audit-trail.js'
import { isAcceptablePassword } from '../../platform/passwords/password.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
import type { Page } from '../../storage/postgres/page.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { isRecordId, requireName } from './name-of-record.js'
import { type PageOf, readPage } from './pages.js'
import { recordChange } from './record-change.js'

export type UserAdministration = {
  users: Pick<
    UserStore,
    'create' | 'list' | 'findById' | 'findByName' | 'disable' | 'enable' | 'setPassword' | 'delete'
  >
  hashPassword: (password: string) => Promise<string>
}

export async function createUser(
  command: { username: string; password: string },
  author: Author,
  { users, hashPassword }: UserAdministration
): Promise<User> {
  const username = requireName(command.username, 'a user name')
  const password = requirePassword(command.password)
  const user = { userId: randomUUID(), username, passwordHash: await hashPassword(password) }
  const event = { event: 'user_created', userId: user.userId, details: { username } } as const
  const created = await recordChange(event, author, (note) => users.create(user, note))
  if (!created) throw new AdministrationError('conflict', `user ${username} exists already`)
  return created
}

export function listUsers(page: Page, { users }: UserAdministration): Promise<PageOf<User>> {
  return readPage(page, users.list, ({ username }) => username)
}

export async function findUser(userId: string, { users }: { users: Pick<UserStore, 'findById'> }): Promise<User> {
  const found = isRecordId(userId) ? await users.findById(userId) : undefined
  if (found === undefined) throw new AdministrationError('not_found', `there is no user ${userId}`)
  return found
}

/** Finds a user by id or by name. */
export async function findUserByEither(
  given: string,
  { users }: { users: Pick<UserStore, 'findById' | 'findByName'> }
): Promise<User> {
  const byId = isRecordId(given) ? await users.findById(given) : undefined
  const byName = await users.findByName(given.normalize('NFC').trim())
  const found = byId ?? byName
  if (found === undefined) throw new AdministrationError('not_found', `there is no user ${given}`)
  if (byId !== undefined && byName !== undefined && byId.userId !== byName.userId) {
    throw new AdministrationError('conflict', `${given} is the id of one user and the name of another`)
  }
  return found
}

/** Ends all sessions and tokens, and blocks sign-in. Idempotent. */
export async function disableUser(userId: string, author: Author, deps: UserAdministration): Promise<User> {
  return change('user_disabled', userId, author, deps, (note) => deps.users.disable(userId, note))
}

/** Lets a disabled user sign in again. Ended sessions and tokens stay ended. Idempotent. */
export async function enableUser(userId: string, author: Author, deps: UserAdministration): Promise<User> {
  return change('user_enabled', userId, author, deps, (note) => deps.users.enable(userId, note))
}

/** Sets a password and ends all sessions and tokens. */
export async function setPassword(
  { userId, password }: { userId: string; password: string },
  author: Author,
  deps: UserAdministration
): Promise<User> {
  // Before the password is hashed, because hashing is slow.
  await findUser(userId, deps)
  const passwordHash = await deps.hashPassword(requirePassword(password))
  return change('user_password_set', userId, author, deps, (note) => deps.users.setPassword(userId, passwordHash, note))
}

/** Deletes a user and ends all sessions and tokens. The resource server keeps the file records, which no token can list. */
export async function deleteUser(userId: string, author: Author, deps: UserAdministration): Promise<User> {
  return change('user_deleted', userId, author, deps, (note) => deps.users.delete(userId, note))
}

/** @returns the user after the change, even if an earlier command made it */
async function change(
  event: AdministrationEventName,
  userId: string,
  author: Author,
  deps: UserAdministration,
  make: (note: AuditNote) => Promise<User | undefined>
): Promise<User> {
  const { username } = await findUser(userId, deps)
  const changed = await recordChange({ event, userId, details: { username } }, author, make)
  return changed ?? findUser(userId, deps)
}

function requirePassword(password: string): string {
  if (isAcceptablePassword(password)) return password
  throw new AdministrationError('invalid', 'a password must have 1 to 1024 bytes and no control characters')
}

export function userDocument(user: User) {
  return {
    user_id: user.userId,
    username: user.username,
    disabled: user.disabled,
    created_at: user.createdAt.toISOString(),
    ...(user.displayName !== undefined && { display_name: user.displayName }),
    ...(user.lastSignedInAt !== undefined && { last_signed_in_at: user.lastSignedInAt.toISOString() })
  }
}
