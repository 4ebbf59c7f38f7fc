import { createClientSecret, findDeletableSecret, mayAddSecret } from '../../../platform/clients/client-secret-rules.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

type Added =
  /** @property clientSecret shown once */
  { kind: 'created'; clientSecret: string; secretId: string } | { kind: 'two_are_live' | 'public' }

/**
 * Adds a secret. The old one stays valid until it is deleted, so that the app can switch without a gap. The page requires a fresh
 * sign-in.
 */
export async function addAppSecret(clientId: string, actor: Actor, deps: OwnAppDeps): Promise<Added | Refused> {
  return changeOwnApp<Added>(clientId, actor, deps, async ({ type }) => {
    if (type === 'public') return { kind: 'public' }
    const found = await deps.clients.findVersion(clientId)
    if (!mayAddSecret(await deps.secrets.list(clientId))) return { kind: 'two_are_live' }
    // After the version of the client was read: an owner who has been removed since gave it a new one.
    if (found === undefined || !(await isStillOwner(clientId, actor, deps))) return undefined
    const { clientSecret, hash, secretId } = createClientSecret(deps.randomBytes)
    const event = { event: 'client_secret_rotated', clientId, details: { secretId } } as const
    const { version } = found
    const added = await recordOwnChange(event, actor, (note) =>
      deps.clients.addSecret({ clientId, version }, { hash, othersUntil: undefined }, note)
    )
    return added ? { kind: 'created', clientSecret, secretId } : undefined
  })
}

type Deleted = { kind: 'done' | 'only_live_secret' }

/** Ends a secret at once, except the last live one: without it, the app could not authenticate. */
export async function deleteAppSecret(
  { clientId, secretId }: { clientId: string; secretId: string },
  actor: Actor,
  deps: OwnAppDeps
): Promise<Deleted | Refused> {
  return changeOwnApp<Deleted>(clientId, actor, deps, async () => {
    const found = await deps.clients.findVersion(clientId)
    const deletable = findDeletableSecret(await deps.secrets.list(clientId), secretId)
    if (deletable.kind === 'unknown') return { kind: 'done' }
    if (deletable.kind === 'only_live_secret') return { kind: 'only_live_secret' }
    if (found === undefined || !(await isStillOwner(clientId, actor, deps))) return undefined
    const event = { event: 'client_secret_deleted', clientId, details: { secretId } } as const
    const { version } = found
    const deleted = await recordOwnChange(event, actor, (note) =>
      deps.clients.removeSecret({ clientId, version }, secretId, note)
    )
    return deleted ? { kind: 'done' } : undefined
  })
}

async function isStillOwner(clientId: string, { user }: Actor, { apps }: OwnAppDeps): Promise<boolean> {
  return (await apps.findOwn(user.userId, clientId)) !== undefined
}
