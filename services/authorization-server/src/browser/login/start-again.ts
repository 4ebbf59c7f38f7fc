import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import { refuseForeignForm } from '../csrf/check-form.js'
import { type Again, clientQuery, stepUrl } from '../pending-requests/pending-request.js'

export type SignInPageOptions = { issuer: string; cookieKeys: readonly string[]; audit: AuditTrail }

/** Redirects back to `/oauth/authorize`, which carries out the next step; without a request, to the sign-in page. */
export function startAgain(
  query: string,
  reply: FastifyReply,
  { issuer }: Pick<SignInPageOptions, 'issuer'>,
  again?: Again
): FastifyReply {
  return reply.redirect(stepUrl(issuer, query === '' ? '/login' : '/oauth/authorize', query, { again }), 303)
}

export function refuseForeign(request: FastifyRequest, reply: FastifyReply, options: SignInPageOptions): FastifyReply {
  const { issuer, audit } = options
  const query = clientQuery(request)
  const retryUrl = query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query)
  return refuseForeignForm(request, reply, { issuer, audit, retryUrl })
}
