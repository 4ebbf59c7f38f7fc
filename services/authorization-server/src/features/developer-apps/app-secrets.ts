import { createClientSecret, findDeletableSecret, mayAddSecret } from '../../platform/clients/client-secret-rules.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

type Added =
  /** @property clientSecret shown once */
  { kind: 'created'; clientSecret: string; secretId: string } | { kind: 'two_are_live' | 'without_secrets' }

/**
 * Adds a secret. The old one stays valid until it is deleted, so that the app can switch without a gap. The page requires a fresh
 * sign-in.
 */
export async function addAppSecret(clientId: string, actor: Actor, deps: OwnAppDeps): Promise<Added | Refused> {
  return changeOwnApp<Added>(clientId, actor, deps, async (app) => {
    if (app.type === 'public' || app.usesKeys) return { kind: 'without_secrets' }
    if (!mayAddSecret(await deps.secrets.list(clientId))) return { kind: 'two_are_live' }
    const { clientSecret, hash, secretId } = createClientSecret(deps.randomBytes)
    const event = { event: 'client_secret_rotated', clientId, details: { secretId } } as const
    const added = await recordOwnChange(event, actor, (note) => deps.secretChanges.add(actor.user, app, hash, note))
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
  return changeOwnApp<Deleted>(clientId, actor, deps, async (app) => {
    const deletable = findDeletableSecret(await deps.secrets.list(clientId), secretId)
    if (deletable.kind === 'unknown') return { kind: 'done' }
    if (deletable.kind === 'only_live_secret') return { kind: 'only_live_secret' }
    const event = { event: 'client_secret_deleted', clientId, details: { secretId } } as const
    const deleted = await recordOwnChange(event, actor, (note) =>
      deps.secretChanges.remove(actor.user, app, secretId, note)
    )
    return deleted ? { kind: 'done' } : undefined
  })
}
