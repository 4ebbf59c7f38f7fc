import { isSameResource, scopesOf } from '@valetkey/oauth-protocol'
import { some } from '../../operator/use-cases/administer-scopes.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import type { Current, Known, RegistryChange } from './registry-change.js'
import type { RegistryDocument } from './registry-document.js'

/** The records that `--prune` keeps: all of a kind that the document does not list, else the listed ones and built-in scopes. */
export function keptOf(document: RegistryDocument, { servers, scopes, clients, otherClients }: Current): Current {
  const isListedServer = isIn(document.resource_servers?.map(({ client_id: id }) => id))
  const isListedScope = isIn(document.scopes?.map(({ name }) => name))
  const isListedClient = isIn(document.clients?.map(({ client_id: id }) => id))
  return {
    servers: servers.filter(({ clientId }) => isListedServer(clientId)),
    scopes: scopes.filter(({ name, builtIn }) => builtIn || isListedScope(name)),
    clients: clients.filter(({ clientId }) => isListedClient(clientId)),
    otherClients
  }
}

function isIn(ids: readonly string[] | undefined): (id: string) => boolean {
  const listed = ids && new Set(ids)
  return (id) => listed === undefined || listed.has(id)
}

/** Clients first, because a scope or an API that a client names cannot be deleted. */
export function planDeletions(current: Current, kept: Current): RegistryChange[] {
  return [
    ...missing(current.clients, kept.clients).map(({ clientId, name }) => deletion('client', clientId, name)),
    ...missing(current.scopes, kept.scopes).map(({ name }) => deletion('scope', name)),
    ...missing(current.servers, kept.servers).map(({ clientId, name }) => deletion('resource server', clientId, name))
  ]
}

/**
 * Refuses to delete what a record names that the document does not list. Its entries are checked by themselves: they may name
 * only what is kept.
 */
export async function checkDeletions(document: RegistryDocument, known: Known): Promise<void> {
  const { current, kept } = known
  const clients = [...(document.clients === undefined ? kept.clients : []), ...kept.otherClients]
  const scopes = document.scopes === undefined ? kept.scopes : []
  const idsOf = (some: typeof clients) => some.map(({ clientId }) => clientId)
  for (const { name } of missing(current.scopes, kept.scopes)) {
    const users = clients.filter((client) => scopesOf(client).includes(name))
    await refuse('scopes', `the scope ${name}, which clients have`, idsOf(users), known)
  }
  for (const deleted of deletedApis(document, known)) {
    const isDeleted = (audience: string) => isSameResource(audience, deleted)
    const own = scopes.filter(({ audience }) => audience !== undefined && isDeleted(audience))
    const limited = clients.filter(({ audiences }) => audiences?.some(isDeleted))
    const names = own.map(({ name }) => name)
    await refuse('resource_servers', `${deleted}, which scopes belong to`, names, known)
    await refuse('resource_servers', `${deleted}, which clients are limited to`, idsOf(limited), known)
  }
}

/** Audiences that lose their last credential. */
function deletedApis(document: RegistryDocument, { current, kept }: Known): ReadonlySet<string> {
  const remaining = new Set([...kept.servers, ...(document.resource_servers ?? [])].map(({ audience }) => audience))
  const audiences = missing(current.servers, kept.servers).map(({ audience }) => audience)
  return new Set(audiences.filter((audience) => !remaining.has(audience)))
}

async function refuse(place: string, deleted: string, users: readonly string[], { mistakes }: Known): Promise<void> {
  await mistakes.check(place, () => {
    if (users.length > 0) throw new AdministrationError('conflict', `--prune would delete ${deleted}: ${some(users)}`)
  })
}

function deletion(kind: RegistryChange['kind'], id: string, name?: string): RegistryChange {
  return { kind, id, action: 'delete', ...(name !== undefined && { name }) }
}

/** @param kept some of the same objects */
function missing<Record>(records: readonly Record[], kept: readonly Record[]): Record[] {
  const stay = new Set(kept)
  return records.filter((record) => !stay.has(record))
}
