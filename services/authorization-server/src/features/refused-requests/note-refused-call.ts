import { isClientId, readClientCredentials } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import type { SentRefusal } from '../../http/send-oauth-error.js'
import { authorizationHeaders, formOf } from '../../platform/request-parts.js'
import type { RefusedEndpoint } from './client-refusal-store.js'
import type { ClientRefusals, RefusalStanding } from './client-refusals.js'

/** Notes the refusals of `/token` and `/oauth/revoke` that name a client, for its developer. */
export function noteRefusedCalls(refusals: Pick<ClientRefusals, 'note'>) {
  return (request: FastifyRequest, { status, reason, error, description, clientId }: SentRefusal): void => {
    const endpoint = endpointOf(request)
    const client = clientOf(request, { reason, clientId })
    // A 5xx is no fault of the request.
    if (endpoint === undefined || client === undefined || status >= 500) return
    const redirectUri = reason === 'wrong_redirect_uri' ? formOf(request).get('redirect_uri') : undefined
    refusals.note(request, { ...client, endpoint, error, reason, description, redirectUri })
  }
}

function endpointOf(request: FastifyRequest): RefusedEndpoint | undefined {
  const route = request.routeOptions.url ?? ''
  if (route.endsWith('/token')) return 'token'
  return route.endsWith('/oauth/revoke') ? 'revoke' : undefined
}

function clientOf(
  request: FastifyRequest,
  { reason, clientId }: Pick<SentRefusal, 'reason' | 'clientId'>
): { clientId: string; standing: RefusalStanding } | undefined {
  if (request.authenticatedSecretId !== undefined && clientId !== undefined)
    return { clientId, standing: 'authenticated' }
  if (clientId !== undefined) return { clientId, standing: reason === 'unknown_client' ? 'unverified' : 'known' }
  // Refused before authentication, such as a body that is no form.
  const credentials = readClientCredentials(authorizationHeaders(request), formOf(request))
  const isNamed = 'clientId' in credentials && isClientId(credentials.clientId)
  return isNamed ? { clientId: credentials.clientId, standing: 'unverified' } : undefined
}
