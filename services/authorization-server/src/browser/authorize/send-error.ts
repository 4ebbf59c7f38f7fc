import { errorLocation } from '@valetkey/oauth-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import { errorUri } from '../../http/send-oauth-error.js'
import { queryOf } from '../../platform/request-parts.js'
import type { ValidatedRequest } from '../pending-requests/validate-request.js'

type RequestError = Omit<Extract<ValidatedRequest, { kind: 'redirect_error' }>, 'kind'>

/** Sends an error by a redirect (RFC 6749 §4.1.2.1), or on a page if the browser must not be sent there. */
export function sendError(
  { redirectUri, state, error, description, showsErrors }: RequestError,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer }: { issuer: string }
): FastifyReply {
  if (showsErrors) {
    const sent = { ...sentByApp(request), detail: `${error}: ${description}` }
    return sendErrorPage(request, reply, { status: 400, reason: 'request_not_returned', sent })
  }
  const failure = { error, description, errorUri: errorUri(issuer, error) }
  return reply.redirect(errorLocation({ redirectUri, state, issuer }, failure), 303)
}

/** What an error page names of the request. */
export function sentByApp(request: FastifyRequest): { clientId: string | undefined; redirectUri: string | undefined } {
  const parameters = queryOf(request)
  return { clientId: parameters.get('client_id'), redirectUri: parameters.get('redirect_uri') }
}

/** What the client gets instead of a page, by the step that would show one. */
export const PAGE_REQUIRED = {
  login_required: { error: 'login_required', description: 'The user must sign in.' },
  consent_required: { error: 'consent_required', description: 'The user must allow access.' }
} as const

export const DISABLED = { error: 'access_denied', description: 'The account or app was disabled.' } as const
