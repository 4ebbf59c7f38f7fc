import { isClientId, type OAuthErrorCode } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import type { RefusedAuthorization } from '../../http/refusal-observer.js'
import { queryOf } from '../../platform/request-parts.js'
import type { ClientRefusals } from './client-refusals.js'

/** Error pages without an error code of their own: the code whose page explains them. */
const ERROR_OF_PAGE: Readonly<Record<string, OAuthErrorCode>> = {
  unknown_client: 'invalid_client',
  client_not_allowed: 'invalid_client',
  client_unreachable: 'temporarily_unavailable',
  client_too_many: 'temporarily_unavailable'
}

/** Reasons that are found after the client. */
const OF_KNOWN_CLIENTS: ReadonlySet<string> = new Set(['redirect_uri_mismatch', 'app_not_published', 'no_cookie'])

/** Notes a refused authorization request for the developer of the app. */
export function noteRefusedAuthorization(
  request: FastifyRequest,
  { reason, sent, detail }: RefusedAuthorization,
  refusals: Pick<ClientRefusals, 'note'>
): void {
  const parameters = queryOf(request)
  const clientId = parameters.get('client_id')
  if (clientId === undefined || !isClientId(clientId)) return
  const isKnown = sent !== undefined || OF_KNOWN_CLIENTS.has(reason)
  refusals.note(request, {
    clientId,
    standing: isKnown ? 'known' : 'unverified',
    endpoint: 'authorize',
    reason,
    error: sent?.error ?? ERROR_OF_PAGE[reason] ?? 'invalid_request',
    description: sent?.description ?? detail,
    redirectUri: reason === 'redirect_uri_mismatch' ? parameters.get('redirect_uri') : undefined
  })
}
