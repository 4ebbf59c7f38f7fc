import type { Current, RegistryChange } from './registry-change.js'
import type { RegistryDocument } from './registry-document.js'

/** The records that `--prune` keeps: all of a kind that the document does not list, else the listed ones and built-in scopes. */
export function keptOf(document: RegistryDocument, { servers, scopes, clients }: Current): Current {
  const isListedServer = isIn(document.resource_servers?.map(({ client_id: id }) => id))
  const isListedScope = isIn(document.scopes?.map(({ name }) => name))
  const isListedClient = isIn(document.clients?.map(({ client_id: id }) => id))
  return {
    servers: servers.filter(({ clientId }) => isListedServer(clientId)),
    scopes: scopes.filter(({ name, builtIn }) => builtIn || isListedScope(name)),
    clients: clients.filter(({ clientId }) => isListedClient(clientId))
  }
}

function isIn(ids: readonly string[] | undefined): (id: string) => boolean {
  const listed = ids && new Set(ids)
  return (id) => listed === undefined || listed.has(id)
}

/** Clients first, because a scope or an API that a client names cannot be deleted. */
export function planDeletions(current: Current, kept: Current): RegistryChange[] {
  return [
    ...missing(current.clients, kept.clients).map(({ clientId }) => deletion('client', clientId)),
    ...missing(current.scopes, kept.scopes).map(({ name }) => deletion('scope', name)),
    ...missing(current.servers, kept.servers).map(({ clientId }) => deletion('resource server', clientId))
  ]
}

function deletion(kind: RegistryChange['kind'], id: string): RegistryChange {
  return { kind, id, action: 'delete' }
}

/** @param kept some of the same objects */
function missing<Record>(records: readonly Record[], kept: readonly Record[]): Record[] {
  const stay = new Set(kept)
  return records.filter((record) => !stay.has(record))
}
