import type { ClientOrigin, ClientRegistration, NewClient } from '../../storage/postgres/clients.js'
import { membersOfSettings } from './client-members.js'
import { settingsOf } from './client-settings.js'

/**
 * A client for operators, on the command line and over HTTP. Without a lifetime, the server's value applies. The scopes of a
 * discovered client are those of the catalogue that are marked.
 */
export function clientDocument(client: ClientRegistration) {
  return { ...newClientDocument(client), created_at: client.createdAt.toISOString() }
}

/** A client before Postgres has set created_at. */
export function newClientDocument(client: NewClient) {
  return {
    client_id: client.clientId,
    name: client.name,
    type: client.type,
    redirect_uris: client.redirectUris,
    ...membersOfSettings(settingsOf(client)),
    origin: originOf(client),
    disabled: client.disabled
  }
}

function originOf({ isDiscovered, isOfDeveloper }: NewClient): ClientOrigin {
  if (isDiscovered === true) return 'discovered'
  return isOfDeveloper === true ? 'developer' : 'registered'
}
