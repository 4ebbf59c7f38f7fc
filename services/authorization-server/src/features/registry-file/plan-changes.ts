import { isSameResource } from '@valetkey/oauth-protocol'
import { requireOwnApi, scopeDocument, toTexts } from '../../operator/use-cases/administer-scopes.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { changesBetween } from '../../operator/use-cases/changes-between.js'
import { newClientDocument } from '../../operator/use-cases/client-document.js'
import { newClient, withSettings } from '../../operator/use-cases/client-settings.js'
import type { ClientRegistration, NewClient } from '../../storage/postgres/clients.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import { checkClient, checkScope, type Registered } from './check-entries.js'
import type { Mistakes } from './mistakes.js'
import { checkDeletions, keptOf, planDeletions } from './plan-deletions.js'
import { planResourceServers } from './plan-resource-servers.js'
import {
  type Current,
  changed,
  type Known,
  type RegistryAdministration,
  type RegistryChange
} from './registry-change.js'
import { type ClientEntry, type RegistryDocument, type ScopeEntry, settingsOf } from './registry-document.js'
import { skipUnusable } from './skip-unusable.js'

/**
 * The changes that lead from the database to the document, in the order in which they can be made. Validates every member
 * of every entry. After a mistake the changes must not be made.
 * @param prune also delete what a listed kind does not contain; built-in scopes stay
 */
export async function planChanges(
  document: RegistryDocument,
  prune: boolean,
  mistakes: Mistakes,
  deps: RegistryAdministration
): Promise<readonly RegistryChange[]> {
  const clients = await deps.clients.list()
  const current = {
    servers: await deps.resourceServers.listRegistrations(),
    scopes: await deps.scopes.list(),
    clients: clients.filter(isRegistered),
    otherClients: clients.filter((client) => !isRegistered(client))
  }
  const kept = prune ? keptOf(document, current) : current
  const known: Known = { current, kept, later: afterwards(document, kept), mistakes }
  const changes = await planResourceServers(document, known)
  for (const [index, entry] of (document.scopes ?? []).entries()) {
    changes.push(...(await planScope(entry, `scopes[${index}]`, known)))
  }
  for (const [index, entry] of (document.clients ?? []).entries()) {
    changes.push(...(await planClient(entry, `clients[${index}]`, known)))
  }
  await checkDeletions(document, known)
  return [...changes, ...planDeletions(current, kept)]
}

/** A client that described itself is no part of the registry: its row follows its document. */
export function isRegistered({ isDiscovered, isOfDeveloper }: ClientRegistration): boolean {
  return isDiscovered !== true && isOfDeveloper !== true
}

/**
 * Scopes and APIs as they are when the document has been applied: entries may name those that it creates, but not those that
 * `--prune` deletes.
 */
function afterwards(document: RegistryDocument, kept: Current): Registered {
  const newServers = (document.resource_servers ?? []).map(({ client_id: clientId, name, audience }) => ({
    resourceServer: { clientId, name, audience },
    secretHash: Buffer.alloc(0)
  }))
  const servers = kept.servers.map((resourceServer) => ({ resourceServer, secretHash: Buffer.alloc(0) }))
  const known = new Set(kept.scopes.map(({ name }) => name))
  const newScopes = (document.scopes ?? []).filter(({ name }) => !known.has(name)).map((entry) => toScope(entry))
  return {
    resourceServers: { list: async () => [...servers, ...newServers] },
    scopes: { list: async () => [...kept.scopes, ...newScopes] }
  }
}

/** A stored record may go on to name an API whose last credential was deleted. A new one may not. */
function withOwnApis(audiences: readonly string[], { current, later }: Known): Registered {
  const isBare = (audience: string) => !current.servers.some((server) => isSameResource(server.audience, audience))
  const own = audiences.filter(isBare).map((audience) => ({
    resourceServer: { clientId: '', name: audience, audience },
    secretHash: Buffer.alloc(0)
  }))
  return { ...later, resourceServers: { list: async () => [...(await later.resourceServers.list()), ...own] } }
}

async function planScope(given: ScopeEntry, place: string, known: Known): Promise<RegistryChange[]> {
  const { current, mistakes } = known
  const id = given.name
  const found = current.scopes.find(({ name }) => name === id)
  const before = mistakes.count()
  const audience = await checkScope(given, place, withOwnApis(found?.audience ? [found.audience] : [], known), mistakes)
  // The API is named by its audience: while the change is made, APIs that are deleted later can have the same name.
  const { resource: _resource, ...others } = given
  const entry = { ...others, ...(audience !== undefined && { resource: audience }) }
  if (found === undefined) return [{ kind: 'scope', id, action: 'create', entry, place, changes: {} }]
  await mistakes.check(`${place}.resource`, () => requireOwnApi(found, audience))
  if (mistakes.count() > before) return []
  const scope = toScope(entry)
  const wanted = { ...scope, ...toTexts(scope), audience, builtIn: found.builtIn }
  return changed({
    kind: 'scope',
    id,
    action: 'update',
    entry,
    place,
    changes: changesBetween(scopeDocument(found), scopeDocument(wanted))
  })
}

async function planClient(listed: ClientEntry, place: string, known: Known): Promise<RegistryChange[]> {
  const { current, mistakes } = known
  const given = await skipUnusable(listed, place, known)
  const { client_id: id, type = 'confidential' } = given
  const found = current.clients.find(({ clientId }) => clientId === id)
  const later = withOwnApis(found?.audiences ?? [], known)
  const before = mistakes.count()
  await mistakes.check(`${place}.client_id`, () => {
    if (current.otherClients.every(({ clientId }) => clientId !== id)) return
    throw new AdministrationError('conflict', `client ${id} exists already, and no operator registered it`)
  })
  await mistakes.check(`${place}.type`, () => {
    if (found === undefined || found.type === type) return
    throw new AdministrationError('conflict', `client ${id} is ${found.type}, which cannot be changed`)
  })
  await checkClient(given, place, later, mistakes)
  const isValid = mistakes.count() === before
  // Members that do not fit each other. A mistake of one member would be found again.
  const settle = () => withSettings<NewClient>(found ?? newClient(id, type), settingsOf(given), later)
  const wanted = isValid ? await mistakes.check(place, settle) : undefined
  const entry = { ...given, resources: wanted?.audiences ?? [] }
  if (found === undefined) return [{ kind: 'client', id, action: 'create', entry, place, changes: {} }]
  if (wanted === undefined) return []
  const after = { ...wanted, disabled: entry.disabled ?? wanted.disabled }
  const changes = changesBetween(newClientDocument(found), newClientDocument(after))
  return changed({ kind: 'client', id, action: 'update', entry, place, changes })
}

function toScope(entry: ScopeEntry): Scope {
  const { name, title, description = '', translations = {}, default: isDefault = false } = entry
  const { discoverable: isDiscoverable = false, self_service: isSelfService = false, selects = false } = entry
  const flags = { isDefault, isDiscoverable, isSelfService, selects, builtIn: false }
  return { name, title, description, translations, audience: undefined, ...flags }
}
