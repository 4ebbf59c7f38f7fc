import { isClientIdentifier, type RandomBytes } from '@valetkey/oauth-protocol'
import type { SignedIn } from '../../browser/session/session-plugin.js'
import type { AdministrationEventName, AuditedRequest } from '../../platform/audit/audit-trail.js'
import type { AuditNote } from '../../storage/postgres/audited.js'
import type { ClientSecret, ClientSecretStore } from '../../storage/postgres/client-secrets.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { Scope, ScopeStore } from '../../storage/postgres/scopes.js'
import type { UserCount } from './app-count-store.js'
import type { AppPeopleStore } from './app-people-store.js'
import type { AppSecretChangeStore } from './app-secret-change-store.js'
import type { DeveloperAppChangeStore } from './developer-app-change-store.js'
import type {
  AppSettings,
  AppSummary,
  DeveloperApp,
  DeveloperAppStore,
  ReceivedInvitation
} from './developer-app-store.js'
import { createTurns } from './in-turn.js'

/** What each use case of this folder needs. */
export type OwnAppDeps = {
  /** `DEVELOPER_APPS`; with `off` there are no pages. */
  mode: 'approved' | 'open'
  productName: string
  apps: DeveloperAppStore
  changes: DeveloperAppChangeStore
  people: AppPeopleStore
  scopes: Pick<ScopeStore, 'list'>
  secrets: Pick<ClientSecretStore, 'list'>
  secretChanges: AppSecretChangeStore
  consents: Pick<ConsentStore, 'deleteOfClient'>
  randomBytes: RandomBytes
}

/** The user who acts, and the request that audit events name. */
export type Actor = { user: SignedIn; request: AuditedRequest }

/** @returns undefined if there is no such record, or the user is not one of its owners */
export type FindOwn<App> = { findOwn: (userId: string, clientId: string) => Promise<App | undefined> }

/** The same for an app that does not exist and for those of other users. */
type UnknownApp = { kind: 'unknown_app' }
/** The session ended meanwhile, or the app is being changed by too many requests at once. */
export type SessionEnded = { kind: 'session_ended' }
export type Refused = UnknownApp | SessionEnded

/** Attempts to change an app that other owners are changing. */
const ATTEMPTS = 20

/** The changes of one user to one app, and their registrations, exclude each other. */
export const inTurnOfUser = createTurns()

export async function listOwnApps(
  { userId }: SignedIn,
  { apps }: Pick<OwnAppDeps, 'apps'>
): Promise<{ apps: readonly (AppSummary & { users: UserCount })[]; invitations: readonly ReceivedInvitation[] }> {
  const [own, invitations] = await Promise.all([apps.list(userId), apps.listInvitations(userId)])
  const counts = own.length === 0 ? undefined : await apps.countUsersOfEach(own.map(({ clientId }) => clientId))
  return {
    apps: own.map((app) => ({ ...app, users: counts?.get(app.clientId) ?? { count: 0, isAtLeast: false } })),
    invitations
  }
}

/** The page of one app. @returns undefined for an app that does not exist and for those of other users */
export async function findOwnApp(
  { userId }: SignedIn,
  clientId: string,
  { apps, secrets }: Pick<OwnAppDeps, 'apps' | 'secrets'>
): Promise<{ app: DeveloperApp; secrets: readonly ClientSecret[]; userCount: number } | undefined> {
  const app = isClientIdentifier(clientId) ? await apps.findOwn(userId, clientId) : undefined
  if (app === undefined) return undefined
  const [all, userCount] = await Promise.all([secrets.list(clientId), apps.countUsers(clientId)])
  return { app, secrets: all, userCount }
}

/** The scopes that operators released for apps of users, and those that the app has already. */
export async function listOfferedScopes(
  current: AppSettings | undefined,
  { scopes }: Pick<OwnAppDeps, 'scopes'>
): Promise<readonly Scope[]> {
  const own = current === undefined ? [] : [...current.requiredScopes, ...current.optionalScopes]
  return (await scopes.list()).filter(({ isSelfService, name }) => isSelfService || own.includes(name))
}

/**
 * Changes an app of the user, or a client that the user owns. Reads it again while other requests change it.
 * @param change returns undefined if the store did not make the change
 */
export async function changeOwnApp<Outcome extends { kind: string }, App extends { version: string } = DeveloperApp>(
  clientId: string,
  { user }: Actor,
  { apps }: { apps: FindOwn<App> },
  change: (app: App) => Promise<Outcome | undefined>
): Promise<Outcome | Refused> {
  if (!isClientIdentifier(clientId)) return { kind: 'unknown_app' }
  return inTurnOfUser(`${user.userId} ${clientId}`, async () => {
    let refusedVersion: string | undefined
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const app = await apps.findOwn(user.userId, clientId)
      if (app === undefined) return { kind: 'unknown_app' }
      const outcome = await change(app)
      if (outcome !== undefined) return outcome
      // Nothing has changed since the last attempt: the session has ended.
      if (app.version === refusedVersion) break
      refusedVersion = app.version
    }
    return { kind: 'session_ended' }
  })
}

export type AppEvent = {
  event: AdministrationEventName
  clientId: string
  details?: Readonly<Record<string, unknown>>
}

/** Makes a change with its audit entry, and logs it afterwards. @returns whether it was made */
export async function recordOwnChange(
  { event, clientId, details }: AppEvent,
  { user, request }: Actor,
  make: (note: AuditNote) => Promise<boolean>
): Promise<boolean> {
  const { userId } = user
  const { id: requestId, ip: address } = request
  const traceId = request.trustedTrace?.traceId
  const kept = { ...details, actor: { kind: 'user', userId } }
  const made = await make({ event, requestId, traceId, clientId, userId, address, details: kept })
  if (made) request.log.info({ event, clientId, userId, address, ...kept }, event.replaceAll('_', ' '))
  return made
}
