import { isClientIdentifier } from '@valetkey/oauth-protocol'
import { canonicalName, problemOfUserName } from '@valetkey/sign-in-rules'
import { readName } from '../../platform/clients/client-name.js'
import { MOST_INVITATIONS } from './app-people-store.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

type Done = { kind: 'done' } | Refused

/**
 * Invites a user to become an owner; with `transfers`, the inviting user stops to be one when the other accepts. The outcome is
 * the same whether the user exists or not. An invitation of the same user is replaced.
 */
export async function inviteOwner(
  { clientId, username: given, transfers }: { clientId: string; username: string; transfers: boolean },
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'invited' } | { kind: 'malformed_name' | 'is_owner' | 'too_many' } | Refused> {
  const read = readName(given)
  if (read.kind !== 'name' || problemOfUserName(read.name) !== undefined) return { kind: 'malformed_name' }
  const { name: username } = read
  const name = canonicalName(username)
  type Outcome = { kind: 'invited' | 'is_owner' | 'too_many' }
  return changeOwnApp<Outcome>(clientId, actor, deps, async (app) => {
    if (app.owners.some((owner) => canonicalName(owner.username) === name)) return { kind: 'is_owner' }
    const isNew = app.invitations.every((each) => canonicalName(each.username) !== name)
    if (isNew && app.invitations.length >= MOST_INVITATIONS) return { kind: 'too_many' }
    const invitation = { username, transfers }
    const event = { event: 'app_owner_invited', clientId, details: invitation } as const
    const make = recordOwnChange(event, actor, (note) => deps.people.invite(actor.user, app, invitation, note))
    return (await make) ? { kind: 'invited' } : undefined
  })
}

export async function withdrawInvitation(
  { clientId, username }: { clientId: string; username: string },
  actor: Actor,
  deps: OwnAppDeps
): Promise<Done> {
  const name = canonicalName(username)
  return changeOwnApp(clientId, actor, deps, async (app) => {
    if (app.invitations.every((each) => canonicalName(each.username) !== name)) return { kind: 'done' as const }
    const event = { event: 'app_invitation_withdrawn', clientId, details: { username } } as const
    const make = recordOwnChange(event, actor, (note) => deps.people.withdrawInvitation(actor.user, app, name, note))
    return (await make) ? { kind: 'done' as const } : undefined
  })
}

/** Accepts or declines for the invited user. `unknown_app`: there is no invitation for them. */
export async function decideInvitation(
  { clientId, accept }: { clientId: string; accept: boolean },
  actor: Actor,
  { people }: Pick<OwnAppDeps, 'people'>
): Promise<Done> {
  if (!isClientIdentifier(clientId)) return { kind: 'unknown_app' }
  const event = accept ? 'app_owner_added' : 'app_invitation_declined'
  const answer = accept ? people.accept : people.decline
  const made = await recordOwnChange({ event, clientId }, actor, (note) => answer(actor.user, clientId, note))
  return made ? { kind: 'done' } : { kind: 'unknown_app' }
}

/** Removes an owner, also the user who asks for it, but never the last enabled owner. */
export async function removeOwner(
  { clientId, userId }: { clientId: string; userId: string },
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'last_owner' } | Done> {
  return changeOwnApp<{ kind: 'done' | 'last_owner' }>(clientId, actor, deps, async (app) => {
    if (app.owners.every((owner) => owner.userId !== userId)) return { kind: 'done' }
    if (app.owners.every((owner) => owner.userId === userId || owner.disabled)) return { kind: 'last_owner' }
    const event = { event: 'app_owner_removed', clientId, details: { owner: userId } } as const
    const make = recordOwnChange(event, actor, (note) => deps.people.removeOwner(actor.user, app, userId, note))
    return (await make) ? { kind: 'done' } : undefined
  })
}
