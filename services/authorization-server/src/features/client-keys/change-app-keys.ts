import { ALGORITHM_OUTSIDE_FAPI2 } from '@valetkey/oauth-protocol'
import { createClientSecret } from '../../platform/clients/client-secret-rules.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'
import type { DeveloperApp } from '../developer-apps/developer-app-store.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from '../developer-apps/own-apps.js'
import {
  type AppAuthentication,
  type AuthenticationReading,
  authenticationDocument,
  knownAuthentication,
  readAppAuthentication
} from './app-authentication.js'
import type { AppKeyChangeStore, KeySource } from './app-key-change-store.js'
import { type MergedKeys, mergeKeys } from './merge-keys.js'

export type AppKeyDeps = OwnAppDeps & AuthenticationReading & { keyChanges: AppKeyChangeStore }

type Done = { kind: 'done' }
/** The app authenticates in another way than the form says. */
type Stale = { kind: 'stale' }
/** The profile of the app does not allow the change. */
type AgainstProfile = { kind: 'against_profile' }

type NotAdded = Stale | AgainstProfile | Exclude<MergedKeys, { kind: 'merged' }>

/** Registers further keys, so that the app can change to them without a gap. Keys that it has already are no mistake. */
export async function addAppKeys(
  { clientId, given }: { clientId: string; given: readonly StoredJwk[] },
  actor: Actor,
  deps: AppKeyDeps
): Promise<Done | NotAdded | Refused> {
  return changeAuthentication<Done | NotAdded>(clientId, actor, deps, async (app, present) => {
    if (present.kind !== 'keys') return { kind: 'stale' }
    if (!allows(present, given)) return { kind: 'against_profile' }
    const merged = mergeKeys(
      present.keys.map(({ jwk }) => jwk),
      given
    )
    if (merged.kind !== 'merged') return merged
    if (merged.added.length === 0) return { kind: 'done' }
    const event = { event: 'client_key_added', clientId, details: { keys: merged.added } } as const
    return recordOwnChange(event, actor, (note) =>
      deps.keyChanges.setKeys(actor.user, app, { keys: merged.keys, jwksUri: undefined }, note)
    )
  })
}

/** Ends a key at once, except the last one: without it, the app could not authenticate. */
export async function removeAppKey(
  { clientId, kid }: { clientId: string; kid: string },
  actor: Actor,
  deps: AppKeyDeps
): Promise<Done | { kind: 'only_key' } | Refused> {
  return changeAuthentication<Done | { kind: 'only_key' }>(clientId, actor, deps, async (app, present) => {
    const keys = present.kind === 'keys' ? present.keys : []
    const removed = keys.find((key) => key.kid === kid)
    if (removed === undefined) return { kind: 'done' }
    if (keys.length === 1) return { kind: 'only_key' }
    const left = keys.filter((key) => key !== removed).map(({ jwk }) => jwk)
    const event = { event: 'client_key_removed', clientId, details: { key: removed.jwk } } as const
    return recordOwnChange(event, actor, (note) =>
      deps.keyChanges.setKeys(actor.user, app, { keys: left, jwksUri: undefined }, note)
    )
  })
}

/**
 * The app authenticates with these keys, and with nothing else from then on.
 * @param command.known what the page of the form showed
 */
export async function useKeys(
  { clientId, known, source }: { clientId: string; known: string; source: KeySource },
  actor: Actor,
  deps: AppKeyDeps
): Promise<Done | Stale | AgainstProfile | Refused> {
  return changeAuthentication<Done | Stale | AgainstProfile>(clientId, actor, deps, async (app, present) => {
    if (!allows(present, source.keys)) return { kind: 'against_profile' }
    if (isInUse(source, present)) return { kind: 'done' }
    if (knownAuthentication(present) !== known) return { kind: 'stale' }
    const to = {
      auth_method: 'private_key_jwt',
      ...(source.jwksUri ? { jwks_uri: source.jwksUri } : { keys: source.keys })
    }
    const details = { from: authenticationDocument(present), to }
    const event = { event: 'app_authentication_changed', clientId, details } as const
    return recordOwnChange(event, actor, (note) => deps.keyChanges.setKeys(actor.user, app, source, note))
  })
}

/** The app authenticates with a new secret, and with nothing else from then on. The secret is shown once. */
export async function useSecret(
  { clientId, known }: { clientId: string; known: string },
  actor: Actor,
  deps: AppKeyDeps
): Promise<{ kind: 'created'; clientSecret: string } | Stale | AgainstProfile | Refused> {
  const { clientSecret, hash, secretId } = createClientSecret(deps.randomBytes)
  const outcome = await changeAuthentication<Done | Stale | AgainstProfile>(
    clientId,
    actor,
    deps,
    async (app, present) => {
      if (present.profile !== undefined) return { kind: 'against_profile' }
      // A second click would replace a secret that the user has just copied.
      if (present.kind === 'secret' || knownAuthentication(present) !== known) return { kind: 'stale' }
      const to = { ...authenticationDocument({ kind: 'secret' }), secretId }
      const details = { from: authenticationDocument(present), to }
      const event = { event: 'app_authentication_changed', clientId, details } as const
      return recordOwnChange(event, actor, (note) => deps.keyChanges.useSecret(actor.user, app, hash, note))
    }
  )
  return outcome.kind === 'done' ? { kind: 'created', clientSecret } : outcome
}

/** @param change an outcome, or whether the store made the change */
async function changeAuthentication<Outcome extends { kind: string }>(
  clientId: string,
  actor: Actor,
  deps: AppKeyDeps,
  change: (app: DeveloperApp, present: AppAuthentication) => Promise<Outcome | boolean>
): Promise<Outcome | Done | Refused> {
  return changeOwnApp<Outcome | Done | { kind: 'unknown_app' }>(clientId, actor, deps, async (app) => {
    if (app.type === 'public') return { kind: 'unknown_app' }
    // After the app: if another request changes the keys meanwhile, the client has another version then.
    const present = await readAppAuthentication(clientId, deps)
    if (present === undefined) return undefined
    const made = await change(app, present)
    if (typeof made !== 'boolean') return made
    return made ? { kind: 'done' } : undefined
  })
}

function allows({ profile }: AppAuthentication, keys: readonly StoredJwk[]): boolean {
  return profile === undefined || keys.every(({ alg }) => alg !== ALGORITHM_OUTSIDE_FAPI2)
}

/** Whether a repeated form has nothing to change. Keys that were added since stay. */
function isInUse({ keys, jwksUri }: KeySource, present: AppAuthentication): boolean {
  if (jwksUri !== undefined) return present.kind === 'address' && present.jwksUri === jwksUri
  if (present.kind !== 'keys') return false
  const merged = mergeKeys(
    present.keys.map(({ jwk }) => jwk),
    keys
  )
  return merged.kind === 'merged' && merged.added.length === 0
}
