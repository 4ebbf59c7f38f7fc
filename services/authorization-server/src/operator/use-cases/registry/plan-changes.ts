import type { ClientRegistration } from '../../../storage/postgres/clients.js'
import type { ResourceServerRegistration } from '../../../storage/postgres/resource-servers.js'
import type { Scope } from '../../../storage/postgres/scopes.js'
import type { ClientAdministration } from '../administer-client.js'
import type { ResourceServerAdministration } from '../administer-resource-servers.js'
import { requireOwnApi, type ScopeAdministration, scopeDocument } from '../administer-scopes.js'
import { AdministrationError } from '../administration-error.js'
import { changesBetween } from '../changes-between.js'
import { clientDocument } from '../client-document.js'
import { withSettings } from '../client-settings.js'
import { checkClient, checkResourceServer, checkScope, type Registered } from './check-entries.js'
import type { Mistakes } from './mistakes.js'
import {
  type ClientEntry,
  type RegistryDocument,
  type ResourceServerEntry,
  type ScopeEntry,
  settingsOf
} from './registry-document.js'

export type RegistryAdministration = ClientAdministration & ScopeAdministration & ResourceServerAdministration

type Changed<Kind, Entry> = {
  kind: Kind
  id: string
  action: 'create' | 'update'
  entry: Entry
  /** Of the entry in the document, such as `clients[3]`. */
  place: string
  changes: object
}
type Deleted<Kind> = { kind: Kind; id: string; action: 'delete' }

/** One step of `valetkey apply`. `changes`: member → old and new value. */
export type RegistryChange =
  | Changed<'resource server', ResourceServerEntry>
  | Changed<'scope', ScopeEntry>
  | Changed<'client', ClientEntry>
  | Deleted<'resource server' | 'scope' | 'client'>

type Current = {
  servers: readonly ResourceServerRegistration[]
  scopes: readonly Scope[]
  clients: readonly ClientRegistration[]
}

type Known = { current: Current; later: Registered; mistakes: Mistakes }

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
  const current = {
    servers: await deps.resourceServers.listRegistrations(),
    scopes: await deps.scopes.list(),
    clients: (await deps.clients.list()).filter(isRegistered)
  }
  const known: Known = { current, later: afterwards(document, current), mistakes }
  const changes: RegistryChange[] = []
  for (const [index, entry] of (document.resource_servers ?? []).entries()) {
    changes.push(...(await planResourceServer(entry, `resource_servers[${index}]`, known)))
  }
  for (const [index, entry] of (document.scopes ?? []).entries()) {
    changes.push(...(await planScope(entry, `scopes[${index}]`, known)))
  }
  for (const [index, entry] of (document.clients ?? []).entries()) {
    changes.push(...(await planClient(entry, `clients[${index}]`, known)))
  }
  return prune ? [...changes, ...planDeletions(document, current)] : changes
}

/** A client that described itself is no part of the registry: its row follows its document. */
export function isRegistered({ isDiscovered, isOfDeveloper }: ClientRegistration): boolean {
  return isDiscovered !== true && isOfDeveloper !== true
}

/** Scopes and APIs as they are when the document has been applied: its clients may name those that it creates. */
function afterwards(document: RegistryDocument, current: Current): Registered {
  const newServers = (document.resource_servers ?? []).map(({ client_id: clientId, name, audience }) => ({
    resourceServer: { clientId, name, audience },
    secretHash: Buffer.alloc(0)
  }))
  const servers = current.servers.map((resourceServer) => ({ resourceServer, secretHash: Buffer.alloc(0) }))
  const known = new Set(current.scopes.map(({ name }) => name))
  const newScopes = (document.scopes ?? []).filter(({ name }) => !known.has(name)).map((entry) => toScope(entry))
  return {
    resourceServers: { list: async () => [...servers, ...newServers] },
    scopes: { list: async () => [...current.scopes, ...newScopes] }
  }
}

async function planResourceServer(
  entry: ResourceServerEntry,
  place: string,
  { current, mistakes }: Known
): Promise<RegistryChange[]> {
  const { client_id: id, title } = entry
  await checkResourceServer(entry, place, mistakes)
  const found = current.servers.find(({ clientId }) => clientId === id)
  if (found === undefined) return [{ kind: 'resource server', id, action: 'create', entry, place, changes: {} }]
  for (const member of ['name', 'audience'] as const) {
    await mistakes.check(`${place}.${member}`, () => {
      if (entry[member] === found[member]) return
      const problem = `resource server ${id} has another ${member}, ${found[member]}, which cannot be changed`
      throw new AdministrationError('conflict', `${problem}: use another client_id`)
    })
  }
  const changes = changesBetween({ title: found.title }, { title })
  return changed({ kind: 'resource server', id, action: 'update', entry, place, changes })
}

async function planScope(
  entry: ScopeEntry,
  place: string,
  { current, later, mistakes }: Known
): Promise<RegistryChange[]> {
  const id = entry.name
  const audience = await checkScope(entry, place, later, mistakes)
  const found = current.scopes.find(({ name }) => name === id)
  if (found === undefined) return [{ kind: 'scope', id, action: 'create', entry, place, changes: {} }]
  await mistakes.check(`${place}.resource`, () => requireOwnApi(found, audience))
  const wanted = { ...toScope(entry), audience, builtIn: found.builtIn }
  return changed({
    ...{ kind: 'scope', id, action: 'update', entry, place },
    changes: changesBetween(scopeDocument(found), scopeDocument(wanted))
  })
}

async function planClient(
  entry: ClientEntry,
  place: string,
  { current, later, mistakes }: Known
): Promise<RegistryChange[]> {
  const { client_id: id, type = 'confidential' } = entry
  const found = current.clients.find(({ clientId }) => clientId === id)
  const before = mistakes.count()
  await mistakes.check(`${place}.type`, () => {
    if (found === undefined || found.type === type) return
    throw new AdministrationError('conflict', `client ${id} is ${found.type}, which cannot be changed`)
  })
  await checkClient(entry, place, later, mistakes)
  const isValid = mistakes.count() === before
  // Members that do not fit each other. A mistake of one member would be found again.
  const settle = () => withSettings(found ?? { ...NEW_CLIENT, clientId: id, type }, settingsOf(entry), later)
  const wanted = isValid ? await mistakes.check(place, settle) : undefined
  if (found === undefined) return [{ kind: 'client', id, action: 'create', entry, place, changes: {} }]
  if (wanted === undefined) return []
  const after = { ...wanted, disabled: entry.disabled ?? wanted.disabled }
  const changes = changesBetween(clientDocument(found), clientDocument(after))
  return changed({ kind: 'client', id, action: 'update', entry, place, changes })
}

/** Clients first, because a scope or an API that a client names cannot be deleted. */
function planDeletions(document: RegistryDocument, current: Current): RegistryChange[] {
  const missing = <Record>(
    kind: 'client' | 'scope' | 'resource server',
    records: readonly Record[],
    idOf: (record: Record) => string,
    kept: readonly string[] | undefined
  ): RegistryChange[] => {
    const ids = kept === undefined ? [] : records.map(idOf).filter((id) => !kept.includes(id))
    return ids.map((id) => ({ kind, id, action: 'delete' }))
  }
  const ownScopes = current.scopes.filter(({ builtIn }) => !builtIn)
  return [
    ...missing(
      'client',
      current.clients,
      ({ clientId }) => clientId,
      document.clients?.map((each) => each.client_id)
    ),
    ...missing(
      'scope',
      ownScopes,
      ({ name }) => name,
      document.scopes?.map(({ name }) => name)
    ),
    ...missing(
      'resource server',
      current.servers,
      ({ clientId }) => clientId,
      document.resource_servers?.map((each) => each.client_id)
    )
  ]
}

function changed(change: RegistryChange & { changes: object }): RegistryChange[] {
  return Object.keys(change.changes).length === 0 ? [] : [change]
}

function toScope(entry: ScopeEntry): Scope {
  const { name, title, description = '', translations = {}, default: isDefault = false } = entry
  const { discoverable: isDiscoverable = false, self_service: isSelfService = false } = entry
  const flags = { isDefault, isDiscoverable, isSelfService, builtIn: false }
  return { name, title, description, translations, audience: undefined, ...flags }
}

const NEW_CLIENT: Omit<ClientRegistration, 'clientId' | 'type'> = {
  name: '',
  redirectUris: [],
  requiredScopes: [],
  optionalScopes: [],
  requiresPkce: false,
  issuesRefreshTokens: true,
  consent: 'ask',
  disabled: false,
  verified: false,
  branding: {},
  createdAt: new Date(0)
}
