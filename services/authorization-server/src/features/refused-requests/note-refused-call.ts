import { type FormParameters, isClientId, readClientCredentials } from '@valetkey/oauth-protocol'
import { readCompactJws } from '@valetkey/oauth-protocol/signed'
import type { FastifyRequest } from 'fastify'
import type { SentRefusal } from '../../http/send-oauth-error.js'
import { authorizationHeaders, formOf } from '../../platform/request-parts.js'
import type { RefusedEndpoint } from './client-refusal-store.js'
import type { ClientRefusals, RefusalStanding } from './client-refusals.js'

const ABOUT_REDIRECT_URIS: ReadonlySet<string> = new Set(['wrong_redirect_uri', 'redirect_uri_mismatch'])

/** Notes the refusals of `/token`, `/oauth/par` and `/oauth/revoke` that name a client, for its developer. */
export function noteRefusedCalls(refusals: Pick<ClientRefusals, 'note'>) {
  return (request: FastifyRequest, { status, reason, error, description, clientId }: SentRefusal): void => {
    const endpoint = endpointOf(request)
    const client = clientOf(request, { reason, clientId })
    // A 5xx is no fault of the request.
    if (endpoint === undefined || client === undefined || status >= 500) return
    const redirectUri = ABOUT_REDIRECT_URIS.has(reason) ? formOf(request).get('redirect_uri') : undefined
    refusals.note(request, { ...client, endpoint, error, reason, description, redirectUri })
  }
}

function endpointOf(request: FastifyRequest): RefusedEndpoint | undefined {
  const route = request.routeOptions.url ?? ''
  if (route.endsWith('/token')) return 'token'
  if (route.endsWith('/oauth/par')) return 'par'
  return route.endsWith('/oauth/revoke') ? 'revoke' : undefined
}

function clientOf(
  request: FastifyRequest,
  { reason, clientId }: Pick<SentRefusal, 'reason' | 'clientId'>
): { clientId: string; standing: RefusalStanding } | undefined {
  const isAuthenticated = request.authenticatedSecretId !== undefined || request.isAuthenticatedByKey
  if (isAuthenticated && clientId !== undefined) return { clientId, standing: 'authenticated' }
  if (clientId !== undefined) return { clientId, standing: reason === 'unknown_client' ? 'unverified' : 'known' }
  // Refused before authentication, such as a body that is no form.
  const form = formOf(request)
  const credentials = readClientCredentials(authorizationHeaders(request), form)
  const named = 'clientId' in credentials ? credentials.clientId : issuerOfAssertion(form)
  return named !== undefined && isClientId(named) ? { clientId: named, standing: 'unverified' } : undefined
}

/** The client that an assertion names, whose signature was not verified. */
function issuerOfAssertion(form: FormParameters): string | undefined {
  const issuer = readCompactJws(form.get('client_assertion') ?? '')?.payload.iss
  return typeof issuer === 'string' ? issuer : undefined
}
