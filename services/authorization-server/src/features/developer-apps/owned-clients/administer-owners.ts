import type { Author } from '../../../operator/use-cases/actor.js'
import {
  ATTEMPTS,
  type ClientAdministration,
  changedMeanwhile,
  findClient,
  findVersioned
} from '../../../operator/use-cases/administer-client.js'
import { findUserByEither } from '../../../operator/use-cases/administer-users.js'
import { AdministrationError } from '../../../operator/use-cases/administration-error.js'
import { changesBetween } from '../../../operator/use-cases/changes-between.js'
import { recordChange } from '../../../operator/use-cases/record-change.js'
import type { ClientRegistration } from '../../../storage/postgres/clients.js'
import type { User, UserStore } from '../../../storage/postgres/users.js'
import type { ClientOwnerStore, ClientOwnership } from './client-owner-store.js'

export type OwnerAdministration = Pick<ClientAdministration, 'clients' | 'changes'> & {
  users: Pick<UserStore, 'findById' | 'findByName'>
  owners: ClientOwnerStore
}

/** @property owners all of them, by id or name; undefined: unchanged */
export type GivenOwnership = {
  owners?: readonly string[] | undefined
  ownersChangeSecrets?: boolean | undefined
}

/** @property owners all of them; undefined: unchanged */
export type OwnershipChange = {
  owners: readonly Pick<User, 'userId'>[] | undefined
  ownersChangeSecrets: boolean | undefined
}

export const MOST_OWNERS = 20

const NO_OWNERS: ClientOwnership = { owners: [], ownersChangeSecrets: false }

/** Finds the users before anything is changed. @throws {AdministrationError} `not_found` */
export async function readOwnership(
  { owners: given, ownersChangeSecrets }: GivenOwnership,
  { users }: Pick<OwnerAdministration, 'users'>
): Promise<OwnershipChange> {
  if (given === undefined) return { owners: undefined, ownersChangeSecrets }
  const found = new Map<string, User>()
  for (const each of given) {
    const user = await findUserByEither(each, { users })
    found.set(user.userId, user)
  }
  if (found.size > MOST_OWNERS) throw new AdministrationError('invalid', `a client has at most ${MOST_OWNERS} owners`)
  if (found.size === 0 && ownersChangeSecrets === true) throw withoutOwner()
  return { owners: [...found.values()], ownersChangeSecrets }
}

export async function findOwnership(clientId: string, deps: OwnerAdministration): Promise<ClientOwnership> {
  await findClient(clientId, deps)
  return (await deps.owners.list([clientId])).get(clientId) ?? NO_OWNERS
}

/** Replaces what is given. Owners that are equal already are not recorded as a change. */
export async function changeOwnership(
  clientId: string,
  change: OwnershipChange,
  author: Author,
  deps: OwnerAdministration
): Promise<ClientOwnership> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { client, version } = await findVersioned(clientId, deps)
    const before = (await deps.owners.list([clientId])).get(clientId) ?? NO_OWNERS
    const ownerIds = (change.owners ?? before.owners).map(({ userId }) => userId).toSorted()
    const ownersChangeSecrets = ownerIds.length > 0 && (change.ownersChangeSecrets ?? before.ownersChangeSecrets)
    requirePossible(client, ownerIds, change.ownersChangeSecrets)
    const changes = changesBetween(kept(before), { owners: ownerIds, owner_secrets: ownersChangeSecrets })
    if (Object.keys(changes).length === 0) return before
    const event = { event: 'client_owners_changed', clientId, details: { changes } } as const
    const replacement = { clientId, version, ownerIds }
    const made = await recordChange(event, author, (note) =>
      client.isOfDeveloper === true
        ? deps.owners.replaceOfApp(replacement, note)
        : deps.owners.replace(replacement, ownersChangeSecrets, note)
    )
    if (made) return findOwnership(clientId, deps)
    await requireUsers(ownerIds, client, deps)
  }
  throw changedMeanwhile(clientId)
}

/** What operators see of the owners of a client. */
export function ownershipDocument({ owners, ownersChangeSecrets }: ClientOwnership) {
  return {
    owners: owners.map(({ userId, username, disabled }) => ({ user_id: userId, username, disabled })),
    owner_secrets: ownersChangeSecrets
  }
}

function kept({ owners, ownersChangeSecrets }: ClientOwnership) {
  return { owners: owners.map(({ userId }) => userId).toSorted(), owner_secrets: ownersChangeSecrets }
}

function requirePossible(
  client: ClientRegistration,
  ownerIds: readonly string[],
  changesSecrets: boolean | undefined
): void {
  if (client.isOfDeveloper !== true) {
    if (ownerIds.length === 0 && changesSecrets === true) throw withoutOwner()
    return
  }
  const subject = `a user registered ${client.clientId}`
  if (ownerIds.length === 0) throw conflict(`${subject}: it has at least one owner; name another, or delete it`)
  if (changesSecrets === false) throw conflict(`${subject}: its owners always change its secrets`)
}

/** @throws {AdministrationError} if a user was deleted meanwhile, or no owner of an app can sign in */
async function requireUsers(
  ownerIds: readonly string[],
  { isOfDeveloper }: ClientRegistration,
  { users }: OwnerAdministration
): Promise<void> {
  const found = await Promise.all(ownerIds.map((userId) => findUserByEither(userId, { users })))
  if (isOfDeveloper === true && found.every(({ disabled }) => disabled))
    throw conflict('at least one owner must be an enabled user')
}

function withoutOwner(): AdministrationError {
  return new AdministrationError('invalid', 'the client has no owner who could change its secrets: name one')
}

function conflict(message: string): AdministrationError {
  return new AdministrationError('conflict', message)
}
