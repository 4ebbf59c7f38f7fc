import { isClientId, scopesOf } from '@valetkey/oauth-protocol'
import type { ClientChangeStore } from '../../storage/postgres/client-changes.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'
import type { ClientSecretStore } from '../../storage/postgres/client-secrets.js'
import type { ClientOrigin, ClientRegistration, ClientStore } from '../../storage/postgres/clients.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { Page } from '../../storage/postgres/page.js'
import type { ScopeList } from '../../storage/postgres/scopes.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { changesBetween } from './changes-between.js'
import { clientDocument } from './client-document.js'
import type { ClientSettings } from './client-members.js'
import { requireKnownScopes, withSettings } from './client-settings.js'
import type { RegisteredApis } from './find-audience.js'
import { type PageOf, readPage } from './pages.js'
import { recordChange } from './record-change.js'

export type ClientAdministration = RegisteredApis & {
  clients: Pick<ClientStore, 'find' | 'list' | 'listPage'>
  changes: ClientChangeStore
  secrets: Pick<ClientSecretStore, 'list' | 'listLive'>
  scopes: ScopeList
  consents: Pick<ConsentStore, 'deleteOfClient'>
  clientLogos: Pick<ClientLogoStore, 'save' | 'find'>
}

/** Attempts to change a client that other commands are changing. More are needed only if something is wrong. */
export const ATTEMPTS = 5

/** Ordered by id. @param origin undefined for all clients */
export function listClients(
  page: Page,
  { clients }: ClientAdministration,
  origin?: ClientOrigin
): Promise<PageOf<ClientRegistration>> {
  const list = (part: Page) => clients.listPage(part, origin)
  return readPage(page, list, ({ clientId }) => clientId)
}

/**
 * Replaces each given setting completely. Settings that are equal already are not recorded as a change.
 * @returns the client, and whether the change ended its verification although the settings do not say so
 */
export async function updateClient(
  { clientId, settings }: { clientId: string; settings: ClientSettings },
  author: Author,
  deps: ClientAdministration
): Promise<{ client: ClientRegistration; isVerificationEnded: boolean }> {
  if (Object.values(settings).every((value) => value === undefined)) {
    throw new AdministrationError('invalid', 'nothing to change: pass at least one option')
  }
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { client, version } = await findVersioned(clientId, deps)
    if (client.isDiscovered === true) throw describedByDocument(clientId)
    const changed = await withSettings(client, settings, deps)
    const added = scopesOf(changed).filter((scope) => !scopesOf(client).includes(scope))
    await requireKnownScopes(added, deps.scopes)
    const changes = changesBetween(clientDocument(client), clientDocument(changed))
    const isVerificationEnded = client.verified && !changed.verified && settings.verified === undefined
    if (Object.keys(changes).length === 0) return { client, isVerificationEnded }
    const event = { event: 'client_updated', clientId, details: { changes } } as const
    const updated = await recordChange(event, author, (note) =>
      deps.changes.update({ client: changed, added }, version, note)
    )
    if (updated) return { client: changed, isVerificationEnded }
  }
  throw changedMeanwhile(clientId)
}

/** Disables a client and ends all its tokens permanently. Idempotent. */
export async function disableClient(clientId: string, author: Author, deps: ClientAdministration) {
  await findClient(clientId, deps)
  await recordChange({ event: 'client_disabled', clientId }, author, (note) => deps.changes.disable(clientId, note))
  return findClient(clientId, deps)
}

/** Enables a client. Its users must consent again, or sign in where consent is remembered. */
export async function enableClient(clientId: string, author: Author, deps: ClientAdministration) {
  await findClient(clientId, deps)
  await recordChange({ event: 'client_enabled', clientId }, author, (note) => deps.changes.enable(clientId, note))
  return findClient(clientId, deps)
}

/**
 * Deletes a client with its secrets and consents, and ends all its tokens. Disables it first, so that a failure leaves a
 * disabled client, which can be deleted again.
 */
export async function deleteClient(clientId: string, author: Author, deps: ClientAdministration) {
  const client = await findClient(clientId, deps)
  const { client_id: _id, ...details } = clientDocument(client)
  await disableClient(clientId, author, deps)
  // The foreign key would delete them with the client, but millions of rows need several statements.
  await deps.consents.deleteOfClient(clientId)
  const deleted = await recordChange({ event: 'client_deleted', clientId, details }, author, (note) =>
    deps.changes.remove(clientId, note)
  )
  if (!deleted) throw noClient(clientId)
  return client
}

export async function findClient(
  clientId: string,
  deps: { clients: Pick<ClientStore, 'find'> }
): Promise<ClientRegistration> {
  const client = isClientId(clientId) ? await deps.clients.find(clientId) : undefined
  if (client === undefined) throw noClient(clientId)
  return client
}

/** Reads the version before the client, so that the update fails if the client changes in between. */
export async function findVersioned(
  clientId: string,
  deps: Pick<ClientAdministration, 'clients' | 'changes'>
): Promise<{ client: ClientRegistration; version: string; readAt: Date }> {
  const found = isClientId(clientId) ? await deps.changes.findVersion(clientId) : undefined
  if (found === undefined) throw noClient(clientId)
  return { client: await findClient(clientId, deps), ...found }
}

export function changedMeanwhile(clientId: string): AdministrationError {
  return new AdministrationError('conflict', `client ${clientId} is being changed by another command; try again`)
}

function describedByDocument(clientId: string): AdministrationError {
  const problem = `client ${clientId} was not registered by an operator`
  return new AdministrationError(
    'conflict',
    `${problem}: its metadata document describes it, and cannot be changed here`
  )
}

function noClient(clientId: string): AdministrationError {
  return new AdministrationError('not_found', `there is no client ${clientId}`)
}
