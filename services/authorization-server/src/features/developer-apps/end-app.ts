import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

/** Ends all tokens of the app. Only an operator enables it again. */
export async function disableApp(
  clientId: string,
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'done' } | Refused> {
  return changeOwnApp(clientId, actor, deps, async (app) => {
    if (app.state === 'disabled') return { kind: 'done' as const }
    const event = { event: 'app_disabled', clientId, details: { reason: 'by_owner' } } as const
    const made = await recordOwnChange(event, actor, (note) => deps.changes.disable(actor.user, app, note))
    return made ? { kind: 'done' as const } : undefined
  })
}

/** Deletes an app and ends all its tokens. Disables it first, so that a failure leaves an app that can be deleted again. */
export async function deleteApp(clientId: string, actor: Actor, deps: OwnAppDeps): Promise<{ kind: 'done' } | Refused> {
  const disabled = await disableApp(clientId, actor, deps)
  if (disabled.kind !== 'done') return disabled
  // The foreign key would delete them with the client, but millions of rows need several statements.
  await deps.consents.deleteOfClient(clientId)
  return changeOwnApp(clientId, actor, deps, async ({ settings }) => {
    const event = { event: 'app_deleted', clientId, details: settings } as const
    const made = await recordOwnChange(event, actor, (note) => deps.changes.remove(actor.user, clientId, note))
    return made ? { kind: 'done' as const } : undefined
  })
}
