import { isClientIdentifier } from '@valetkey/oauth-protocol'
import { isUniqueViolation } from '@valetkey/service-kit'
import { nameKeys } from '@valetkey/sign-in-rules'
import type { Author } from '../../operator/use-cases/actor.js'
import {
  type ClientAdministration,
  changedMeanwhile,
  disableClient
} from '../../operator/use-cases/administer-client.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { requireKnownScopes } from '../../operator/use-cases/client-settings.js'
import { type PageOf, readPage } from '../../operator/use-cases/pages.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { NO_TEXT } from '../../platform/clients/client-name.js'
import type { Page } from '../../storage/postgres/page.js'
import type { AppDecisionStore } from './app-decision-store.js'
import type { AppSettings, AppSummary, DeveloperApp, DeveloperAppStore } from './developer-app-store.js'

export type AppAdministration = ClientAdministration & {
  apps: Pick<DeveloperAppStore, 'listPage' | 'find' | 'isNameTaken'>
  decisions: AppDecisionStore
}

const LONGEST_REASON = 500

/** Apps that users registered, by id. @param waiting only those that wait for approval, or whose change does */
export function listApps(page: Page, waiting: boolean, { apps }: AppAdministration): Promise<PageOf<AppSummary>> {
  return readPage(
    page,
    (part) => apps.listPage(part, waiting),
    ({ clientId }) => clientId
  )
}

export async function findApp(clientId: string, { apps }: Pick<AppAdministration, 'apps'>): Promise<DeveloperApp> {
  const app = isClientIdentifier(clientId) ? await apps.find(clientId) : undefined
  if (app === undefined) throw new AdministrationError('not_found', `no user registered an app ${clientId}`)
  return app
}

/**
 * Publishes an app, or makes its pending change take effect.
 * @param command.revision that the operator saw; refused if the app has another one
 * @param command.verified also marks it as verified
 */
export async function approveApp(
  { clientId, revision, verified }: { clientId: string; revision: number; verified: boolean },
  author: Author,
  deps: AppAdministration
): Promise<DeveloperApp> {
  const app = await findApp(clientId, deps)
  requireWaiting(app, revision)
  if (app.state === 'disabled') throw conflict(`app ${clientId} is disabled: enable it first, or refuse it`)
  const settings = app.pending ?? app.settings
  await requireKnownScopes([...settings.requiredScopes, ...settings.optionalScopes], deps.scopes)
  await requireOwnName(app, settings, deps)
  const change = app.pending && { from: app.settings, to: app.pending }
  const event = { event: 'app_approved', clientId, details: { revision, verified, ...change } } as const
  const decision = { settings, nameKeys: nameKeys(settings.name), verified }
  const approved = await recordChange(event, author, (note) => deps.decisions.approve(app, decision, note)).catch(
    (error: unknown) => {
      throw isUniqueViolation(error) ? taken(settings) : error
    }
  )
  const after = await findApp(clientId, deps)
  if (approved) return after
  requireWaiting(after, revision)
  throw changedMeanwhile(clientId)
}

/** A refused app becomes a draft; a refused change stays pending until its owner changes or withdraws it. */
export async function refuseApp(
  { clientId, revision, reason }: { clientId: string; revision?: number | undefined; reason: string },
  author: Author,
  deps: AppAdministration
): Promise<DeveloperApp> {
  const app = await findApp(clientId, deps)
  const seen = revision ?? app.revision
  requireWaiting(app, seen)
  const text = requireReason(reason)
  const event = { event: 'app_refused', clientId, details: { revision: seen, reason: text } } as const
  const refused = await recordChange(event, author, (note) =>
    deps.decisions.refuse({ clientId, revision: seen }, text, note)
  )
  const after = await findApp(clientId, deps)
  if (!refused) requireWaiting(after, seen)
  return after
}

/** Ends all tokens of the app. `enableClient` enables it again. */
export async function disableApp(clientId: string, author: Author, deps: AppAdministration): Promise<DeveloperApp> {
  await findApp(clientId, deps)
  await disableClient(clientId, author, deps)
  return findApp(clientId, deps)
}

/** @throws {AdministrationError} `conflict` if there is nothing to decide about this revision */
function requireWaiting({ clientId, revision, requestedAt }: DeveloperApp, seen: number): void {
  if (requestedAt === undefined) throw conflict(`app ${clientId} does not wait for approval`)
  if (revision !== seen) {
    const advice = 'show it, and decide about the present one'
    throw conflict(`app ${clientId} was changed: it has revision ${revision}, not ${seen}; ${advice}`)
  }
}

/** Operators may have registered a client with such a name since the request. A name that users see already stays. */
async function requireOwnName(app: DeveloperApp, settings: AppSettings, { apps }: AppAdministration): Promise<void> {
  if (app.isPublished && settings.name === app.settings.name) return
  if (await apps.isNameTaken(nameKeys(settings.name), app.clientId)) throw taken(settings)
}

function requireReason(given: string): string {
  const reason = given.trim()
  if (reason === '' || reason.length > LONGEST_REASON || NO_TEXT.test(reason)) {
    const rule = `must have 1 to ${LONGEST_REASON} characters and no control characters`
    throw new AdministrationError('invalid', `the reason ${rule}: its developer reads it`)
  }
  return reason
}

function taken({ name }: AppSettings): AdministrationError {
  return conflict(`another client has a name that looks like ${JSON.stringify(name)}`)
}

function conflict(message: string): AdministrationError {
  return new AdministrationError('conflict', message)
}
