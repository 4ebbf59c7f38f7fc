import { problemOfIdentityKey } from '@valetkey/sign-in-rules'
import type { Author } from '../../../operator/use-cases/actor.js'
import { findUser } from '../../../operator/use-cases/administer-users.js'
import { AdministrationError } from '../../../operator/use-cases/administration-error.js'
import { recordChange } from '../../../operator/use-cases/record-change.js'
import type { User, UserStore } from '../../../storage/postgres/users.js'
import type { Identity, IdentityKey, IdentityStore } from './identity-store.js'

export type IdentityAdministration = {
  identities: Pick<IdentityStore, 'findUser' | 'list' | 'link' | 'unlink'>
  users: Pick<UserStore, 'findById'>
}

/** The identities of a user, by issuer and subject. */
export async function listIdentities(userId: string, deps: IdentityAdministration): Promise<readonly Identity[]> {
  await findUser(userId, deps)
  return deps.identities.list(userId)
}

/** Links an identity to a user. Idempotent. An identity that is linked to another user is refused without naming the user. */
export async function linkIdentity(
  userId: string,
  identity: IdentityKey,
  author: Author,
  deps: IdentityAdministration
): Promise<Identity> {
  const { username } = await findUser(userId, deps)
  requireIdentity(identity)
  const event = { event: 'identity_linked', userId, details: { username, ...identity } } as const
  const linked = await recordChange(event, author, (note) => deps.identities.link(userId, identity, note))
  if (linked !== undefined) return linked
  const own = (await deps.identities.list(userId)).find((each) => isSame(each, identity))
  if (own === undefined) throw new AdministrationError('conflict', 'the identity is linked to another user')
  return own
}

/** Unlinks an identity and ends all sessions of the user. */
export async function unlinkIdentity(
  userId: string,
  identity: IdentityKey,
  author: Author,
  deps: IdentityAdministration
): Promise<Identity> {
  const { username } = await findUser(userId, deps)
  requireIdentity(identity)
  const event = { event: 'identity_unlinked', userId, details: { username, ...identity } } as const
  const unlinked = await recordChange(event, author, (note) => deps.identities.unlink(userId, identity, note))
  if (unlinked === undefined) {
    throw new AdministrationError('not_found', `user ${username} has no identity ${described(identity)}`)
  }
  return unlinked
}

/** Finds the user who is linked to an identity, for scripts that know users by their provider only. */
export async function findUserByIdentity(
  identity: IdentityKey,
  { identities }: { identities: Pick<IdentityStore, 'findUser'> }
): Promise<User> {
  requireIdentity(identity)
  const user = await identities.findUser(identity)
  if (user === undefined) {
    throw new AdministrationError('not_found', `no user is linked to the identity ${described(identity)}`)
  }
  return user
}

function requireIdentity(identity: IdentityKey): void {
  const problem = problemOfIdentityKey(identity)
  if (problem !== undefined) throw new AdministrationError('invalid', problem)
}

const isSame = (one: IdentityKey, other: IdentityKey): boolean =>
  one.issuer === other.issuer && one.subject === other.subject

const described = ({ issuer, subject }: IdentityKey): string => `${subject} at ${issuer}`

export function identityDocument({ issuer, subject, userId, createdAt, lastUsedAt }: Identity) {
  return {
    issuer,
    subject,
    user_id: userId,
    created_at: createdAt.toISOString(),
    ...(lastUsedAt !== undefined && { last_used_at: lastUsedAt.toISOString() })
  }
}
