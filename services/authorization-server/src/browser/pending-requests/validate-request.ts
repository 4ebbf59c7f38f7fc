import {
  type AuthorizationOutcome,
  type AuthorizationRequest,
  isClientIdentifier,
  parseParameters,
  validateAuthorizationRequest
} from '@valetkey/oauth-protocol'
import type { ClientRegistration, ClientStore } from '../../storage/postgres/clients.js'
import type { ResourceServerStore } from '../../storage/postgres/resource-servers.js'

export type ValidationDeps = {
  clients: Pick<ClientStore, 'find'>
  resourceServers: Pick<ResourceServerStore, 'knowsAudience'>
  defaultAudience: string
}

export type ValidatedRequest =
  | Exclude<AuthorizationOutcome, { kind: 'accepted' }>
  | { kind: 'show_error_page'; reason: 'request_too_long' }
  | { kind: 'accepted'; request: AuthorizationRequest; client: ClientRegistration }

// The query is in the addresses of all pages and in the Referer of their forms, which must fit into the request headers.
const MAX_QUERY_LENGTH = 8_000

/**
 * Looks up the client and the resource of a query and validates the request. Every step does this again, so that a change
 * of the client takes effect at once.
 */
export async function validateRequest(query: string, deps: ValidationDeps): Promise<ValidatedRequest> {
  if (query.length > MAX_QUERY_LENGTH) return { kind: 'show_error_page', reason: 'request_too_long' }
  const parameters = parseParameters(query)
  const client = await findClient(parameters.get('client_id'), deps)
  const resource = parameters.get('resource')
  const named = client !== undefined && resource !== undefined && resource !== deps.defaultAudience
  const known = named && (await deps.resourceServers.knowsAudience(resource))
  const outcome = validateAuthorizationRequest(parameters, {
    client,
    defaultAudience: deps.defaultAudience,
    isKnownAudience: () => known
  })
  return outcome.kind === 'accepted' && client !== undefined ? { ...outcome, client } : (outcome as ValidatedRequest)
}

async function findClient(clientId: string | undefined, deps: ValidationDeps): Promise<ClientRegistration | undefined> {
  if (clientId === undefined || !isClientIdentifier(clientId)) return undefined
  const found = await deps.clients.find(clientId)
  return found?.disabled ? undefined : found
}
