import type { Current, RegistryChange } from './registry-change.js'
import type { RegistryDocument } from './registry-document.js'

/** Clients first, because a scope or an API that a client names cannot be deleted. */
export function planDeletions(document: RegistryDocument, current: Current): RegistryChange[] {
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
