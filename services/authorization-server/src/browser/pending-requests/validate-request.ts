import {
  type AuthorizationOutcome,
  type AuthorizationRequest,
  isClientIdentifier,
  parseParameters,
  validateAuthorizationRequest
} from '@valetkey/oauth-protocol'
import type { ClientRegistration, ClientStore } from '../../storage/postgres/clients.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'
import type { ScopeStore } from '../../storage/postgres/scopes.js'

export type ValidationDeps = {
  clients: Pick<ClientStore, 'find'>
  resourceServers: Pick<ResourceServerStore, 'listApis'>
  scopes: Pick<ScopeStore, 'list'>
  defaultAudience: string
}

export type ValidatedRequest =
  | Exclude<AuthorizationOutcome, { kind: 'accepted' }>
  | { kind: 'show_error_page'; reason: 'request_too_long' }
  | { kind: 'accepted'; request: AuthorizationRequest; client: ClientRegistration }

// The query is in the addresses of all pages and in the Referer of their forms, which must fit into the request headers.
const MAX_QUERY_LENGTH = 8_000

/**
 * Looks up the client of a query, the APIs and their scopes, and validates the request. Every step does this again, so that a change
 * of the client takes effect at once.
 */
export async function validateRequest(query: string, deps: ValidationDeps): Promise<ValidatedRequest> {
  if (query.length > MAX_QUERY_LENGTH) return { kind: 'show_error_page', reason: 'request_too_long' }
  const parameters = parseParameters(query)
  const client = await findClient(parameters.get('client_id'), deps)
  // A request of an unknown client needs no more lookups.
  if (client === undefined) return { kind: 'show_error_page', reason: 'unknown_client' }
  const catalogue = {
    defaultAudience: deps.defaultAudience,
    audiences: (await deps.resourceServers.listApis()).map(({ audience }) => audience),
    scopes: await deps.scopes.list()
  }
  const outcome = validateAuthorizationRequest(parameters, { client, catalogue })
  return outcome.kind === 'accepted' ? { ...outcome, client } : outcome
}

async function findClient(clientId: string | undefined, deps: ValidationDeps): Promise<ClientRegistration | undefined> {
  if (clientId === undefined || !isClientIdentifier(clientId)) return undefined
  const found = await deps.clients.find(clientId)
  return found?.disabled ? undefined : found
}
