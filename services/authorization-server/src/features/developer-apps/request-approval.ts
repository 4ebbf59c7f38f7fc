import { MOST_WAITING } from './app-change-sql.js'
import type { DeveloperApp } from './developer-app-store.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

export type RequestOutcome =
  /** `published`: with `DEVELOPER_APPS=open`, no operator is asked. `nothing_to_approve`: also for a disabled app. */
  { kind: 'requested' | 'published' | 'nothing_to_approve' } | { kind: 'too_many_waiting' } | Refused

export const TOO_MANY_WAITING = { kind: 'too_many_waiting' } as const

/** Asks operators to approve the app, or once more to approve a change that was refused. */
export async function requestApproval(clientId: string, actor: Actor, deps: OwnAppDeps): Promise<RequestOutcome> {
  return changeOwnApp<Exclude<RequestOutcome, Refused>>(clientId, actor, deps, async (app) => {
    const isNothing = app.state === 'disabled' || (app.isPublished && app.pending === undefined)
    if (isNothing) return { kind: 'nothing_to_approve' }
    if (deps.mode === 'open' && !app.isPublished) {
      return (await publish(app, actor, deps)) ? { kind: 'published' } : undefined
    }
    if (app.requestedAt !== undefined) return { kind: 'requested' }
    if (await tooManyWait(app, actor, deps)) return TOO_MANY_WAITING
    const event = { event: 'app_approval_requested', clientId, details: { revision: app.revision } } as const
    const made = await recordOwnChange(event, actor, (note) => deps.changes.request(actor.user, app, note))
    return made ? { kind: 'requested' } : undefined
  })
}

/** An app that is not published becomes a draft again. */
export async function withdrawRequest(
  clientId: string,
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'done' } | Refused> {
  return changeOwnApp(clientId, actor, deps, async (app) => {
    if (app.requestedAt === undefined) return { kind: 'done' as const }
    const event = { event: 'app_approval_withdrawn', clientId } as const
    const made = await recordOwnChange(event, actor, (note) => deps.changes.withdrawRequest(actor.user, app, note))
    return made ? { kind: 'done' as const } : undefined
  })
}

/** One that waits already may change. The store decides again, about requests at the same moment. */
export async function tooManyWait(app: DeveloperApp, { user }: Actor, { apps }: OwnAppDeps): Promise<boolean> {
  return app.requestedAt === undefined && (await apps.countOf(user.userId)).waiting >= MOST_WAITING
}

function publish(app: DeveloperApp, actor: Actor, { changes }: OwnAppDeps): Promise<boolean> {
  const event = { event: 'app_published', clientId: app.clientId } as const
  return recordOwnChange(event, actor, (note) => changes.publish(actor.user, app, note))
}
