import { createClientSecret, findDeletableSecret, mayAddSecret } from '../../platform/clients/client-secret-rules.js'
import type { AppSecretChangeStore } from './app-secret-change-store.js'
import type { DeveloperApp } from './developer-app-store.js'
import { type Actor, changeOwnApp, type FindOwn, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

/** An app, or a client that an operator registered. */
type WithSecrets = Pick<DeveloperApp, 'clientId' | 'version' | 'type' | 'usesKeys'>

/** @property apps finds those whose secrets the user may change */
export type SecretDeps = Pick<OwnAppDeps, 'secrets' | 'randomBytes'> & {
  apps: FindOwn<WithSecrets>
  secretChanges: AppSecretChangeStore
}

type Added =
  /** @property clientSecret shown once */
  { kind: 'created'; clientSecret: string; secretId: string } | { kind: 'two_are_live' | 'without_secrets' }

/**
 * Adds a secret. The old one stays valid until it is deleted, so that the app can switch without a gap. The page requires a fresh
 * sign-in.
 */
export async function addAppSecret(clientId: string, actor: Actor, deps: SecretDeps): Promise<Added | Refused> {
  return changeOwnApp<Added, WithSecrets>(clientId, actor, deps, async (app) => {
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
  deps: SecretDeps
): Promise<Deleted | Refused> {
  return changeOwnApp<Deleted, WithSecrets>(clientId, actor, deps, async (app) => {
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
