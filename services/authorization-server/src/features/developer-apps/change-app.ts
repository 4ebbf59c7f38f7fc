import { nameKeys } from '@valetkey/sign-in-rules'
import { BRANDING_NAMES } from '../../storage/postgres/client-branding.js'
import { type AppInput, type Invalid, readAppInput } from './app-input.js'
import { unlessTaken } from './create-app.js'
import type { AppSettings, DeveloperApp } from './developer-app-store.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'
import { TOO_MANY_WAITING, tooManyWait } from './request-approval.js'

export type ChangeOutcome =
  /** `changed`: in effect. `pending`: the app is approved, and the change waits for approval. */
  { kind: 'changed' | 'pending' | 'unchanged' } | { kind: 'too_many_waiting' } | Invalid | Refused

/**
 * Changes name, redirect URIs and scopes, all at once. A change of an approved app takes effect when an operator approves it; a
 * later change replaces it.
 */
export async function changeApp(
  { clientId, input }: { clientId: string; input: AppInput },
  actor: Actor,
  deps: OwnAppDeps
): Promise<ChangeOutcome> {
  return changeOwnApp<Exclude<ChangeOutcome, Refused>>(clientId, actor, deps, async (app) => {
    const read = await readAppInput(input, app, deps)
    if (read.kind === 'invalid') return read
    const { settings } = read
    if (isEqual(settings, app.pending ?? app.settings)) return { kind: 'unchanged' }
    const waits = app.isPublished && deps.mode === 'approved'
    if (!waits) return (await change(app, settings, actor, deps)) ? { kind: 'changed' } : undefined
    if (isEqual(settings, app.settings)) return (await withdraw(app, actor, deps)) ? { kind: 'changed' } : undefined
    if (await tooManyWait(app, actor, deps)) return TOO_MANY_WAITING
    return (await propose(app, settings, actor, deps)) ? { kind: 'pending' } : undefined
  })
}

/** Drops the pending change of an approved app. */
export async function withdrawChange(
  clientId: string,
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'done' } | Refused> {
  return changeOwnApp(clientId, actor, deps, async (app) => {
    if (app.pending === undefined) return { kind: 'done' as const }
    return (await withdraw(app, actor, deps)) ? { kind: 'done' as const } : undefined
  })
}

/** Makes a change take effect. */
function change(app: DeveloperApp, settings: AppSettings, actor: Actor, deps: OwnAppDeps): Promise<boolean> {
  const details = { from: app.settings, to: settings, takes_effect: 'now' }
  const event = { event: 'app_changed', clientId: app.clientId, details } as const
  const command = { settings, nameKeys: nameKeys(settings.name), addedScopes: addedScopes(app, settings) }
  return unlessTaken(recordOwnChange(event, actor, (note) => deps.changes.change(actor.user, app, command, note)))
}

function propose(app: DeveloperApp, settings: AppSettings, actor: Actor, deps: OwnAppDeps): Promise<boolean> {
  const details = { from: app.settings, to: settings, takes_effect: 'when approved' }
  const event = { event: 'app_changed', clientId: app.clientId, details } as const
  const keys = [...nameKeys(app.settings.name), ...nameKeys(settings.name)]
  const command = { settings, nameKeys: keys, addedScopes: addedScopes(app, settings) }
  return unlessTaken(recordOwnChange(event, actor, (note) => deps.changes.propose(actor.user, app, command, note)))
}

function withdraw(app: DeveloperApp, actor: Actor, { changes }: OwnAppDeps): Promise<boolean> {
  const event = { event: 'app_change_withdrawn', clientId: app.clientId } as const
  const keys = nameKeys(app.settings.name)
  return recordOwnChange(event, actor, (note) => changes.withdrawChange(actor.user, app, keys, note))
}

const isEqual = (one: AppSettings, other: AppSettings) =>
  JSON.stringify(membersOf(one)) === JSON.stringify(membersOf(other))

function membersOf({ name, redirectUris, requiredScopes, optionalScopes, branding }: AppSettings): unknown[] {
  const texts = BRANDING_NAMES.map((member) => branding[member])
  return [name, redirectUris, requiredScopes, optionalScopes, ...texts]
}

function addedScopes({ settings }: DeveloperApp, { requiredScopes, optionalScopes }: AppSettings): readonly string[] {
  const own = [...settings.requiredScopes, ...settings.optionalScopes]
  return [...requiredScopes, ...optionalScopes].filter((scope) => !own.includes(scope))
}
