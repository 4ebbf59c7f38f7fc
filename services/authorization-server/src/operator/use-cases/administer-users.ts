import { randomUUID } from 'node:crypto'
import { canonicalName } from '@valetkey/sign-in-rules'
import type { AdministrationEventName } from '../../platform/audit/audit-trail.js'
import type { NewPasswordRules } from '../../platform/passwords/new-password.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
import type { Page } from '../../storage/postgres/page.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { isRecordId } from './name-of-record.js'
import { type PageOf, readPage } from './pages.js'
import { recordChange } from './record-change.js'
import { requireEmail, requireNewPassword, requireUserName } from './user-input.js'

export type UserAdministration = {
  users: Pick<
    UserStore,
    'create' | 'list' | 'findById' | 'findByName' | 'disable' | 'enable' | 'setPassword' | 'delete'
  >
  hashPassword: (password: string) => Promise<string>
  passwordRules: NewPasswordRules
}

/** Without a password, the user signs in with an invitation, a provider or a login page. */
export type NewUser = { username: string; password?: string | undefined; email?: string | undefined }

export async function createUser(command: NewUser, author: Author, deps: UserAdministration): Promise<User> {
  const { users, hashPassword, passwordRules } = deps
  const username = requireUserName(command.username)
  const email = command.email === undefined ? undefined : requireEmail(command.email)
  const password =
    command.password === undefined ? undefined : await requireNewPassword(command.password, username, passwordRules)
  const passwordHash = password === undefined ? undefined : await hashPassword(password)
  const user = { userId: randomUUID(), username, passwordHash, email }
  const event = { event: 'user_created', userId: user.userId, details: { username } } as const
  const created = await recordChange(event, author, (note) => users.create(user, note))
  if (created) return created
  const existing = await users.findByName(canonicalName(username))
  throw new AdministrationError('conflict', `user ${existing?.username ?? username} exists already`)
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
  const byName = await users.findByName(canonicalName(given))
  const found = byId ?? byName
  if (found === undefined) throw new AdministrationError('not_found', `there is no user ${given}`)
  if (byId !== undefined && byName !== undefined && byId.userId !== byName.userId) {
    throw new AdministrationError('conflict', `${given} is the id of one user and the name of another`)
  }
  return found
}

/** Ends all sessions and tokens, and blocks sign-in. Idempotent. */
export async function disableUser(
  userId: string,
  author: Author,
  deps: { users: Pick<UserStore, 'findById' | 'disable'> }
): Promise<User> {
  return change('user_disabled', userId, author, deps, (note) => deps.users.disable(userId, note))
}

/** Lets a disabled user sign in again. Ended sessions, tokens and links stay ended. Idempotent. */
export async function enableUser(userId: string, author: Author, deps: UserAdministration): Promise<User> {
  return change('user_enabled', userId, author, deps, (note) => deps.users.enable(userId, note))
}

/** Sets a password and ends all sessions and tokens. */
export async function setPassword(
  { userId, password }: { userId: string; password: string },
  author: Author,
  deps: UserAdministration
): Promise<User> {
  // The user is looked up before the password is hashed, because hashing is slow.
  const { username } = await findUser(userId, deps)
  const passwordHash = await deps.hashPassword(await requireNewPassword(password, username, deps.passwordRules))
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
  deps: { users: Pick<UserStore, 'findById'> },
  make: (note: AuditNote) => Promise<User | undefined>
): Promise<User> {
  const { username } = await findUser(userId, deps)
  const changed = await recordChange({ event, userId, details: { username } }, author, make)
  return changed ?? findUser(userId, deps)
}

export function userDocument(user: User) {
  return {
    user_id: user.userId,
    username: user.username,
    disabled: user.disabled,
    created_at: user.createdAt.toISOString(),
    ...(user.displayName !== undefined && { display_name: user.displayName }),
    ...(user.email !== undefined && { email: user.email }),
    ...(user.lastSignedInAt !== undefined && { last_signed_in_at: user.lastSignedInAt.toISOString() })
  }
}
