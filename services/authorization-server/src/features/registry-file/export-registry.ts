import { resourceServerDocument } from '../../operator/use-cases/administer-resource-servers.js'
import { scopeDocument } from '../../operator/use-cases/administer-scopes.js'
import { clientDocument } from '../../operator/use-cases/client-document.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import { apisOf } from '../../storage/postgres/resource-servers.js'
import { isRegistered } from './plan-changes.js'
import type { RegistryAdministration } from './registry-change.js'
import type { RegistryDocument } from './registry-document.js'

/** The whole registry without secrets; `valetkey apply` of it changes nothing. */
export async function exportRegistry(deps: RegistryAdministration): Promise<Required<RegistryDocument>> {
  const servers = await deps.resourceServers.listRegistrations()
  const apis = new Map(apisOf(servers).map((api) => [api.audience, api]))
  const scopes = await deps.scopes.list()
  const clients = await deps.clients.list()
  return {
    resource_servers: servers.map((server) => {
      // Credentials of one API can have different values. The file has those that count.
      const {
        created_at: _createdAt,
        last_used_at: _lastUsedAt,
        ...entry
      } = resourceServerDocument({ ...server, ...apis.get(server.audience) })
      return entry
    }),
    scopes: scopes.map((scope) => {
      const { built_in: _builtIn, ...entry } = scopeDocument(scope)
      return entry
    }),
    clients: clients.filter(isRegistered).map(toEntry)
  }
}

/**
 * Returns the entry without the logo, which a file of texts cannot contain. Says `disabled` only of disabled clients: `apply`
 * leaves the state of the others alone.
 */
function toEntry(client: ClientRegistration) {
  const { created_at: _createdAt, origin: _origin, logo: _logo, disabled, ...entry } = clientDocument(client)
  return { ...entry, ...(disabled && { disabled }) }
}
