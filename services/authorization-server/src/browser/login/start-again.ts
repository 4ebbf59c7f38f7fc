import type { FastifyReply, FastifyRequest } from 'fastify'
import { type FormPage, refuseForeignForm } from '../csrf/check-form.js'
import { type Again, clientQuery, stepUrl } from '../pending-requests/pending-request.js'

/** Redirects back to `/oauth/authorize`, which carries out the next step; without a request, to the sign-in page. */
export function startAgain(
  query: string,
  reply: FastifyReply,
  { issuer }: Pick<FormPage, 'issuer'>,
  again?: Again
): FastifyReply {
  return reply.redirect(stepUrl(issuer, query === '' ? '/login' : '/oauth/authorize', query, { again }), 303)
}

export function refuseForeign(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, audit }: Pick<FormPage, 'issuer' | 'audit'>
): FastifyReply {
  const query = clientQuery(request)
  const retryUrl = query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query)
  return refuseForeignForm(request, reply, { issuer, audit, retryUrl })
}
