import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import { formOf } from '../../platform/request-parts.js'
import { isCsrfToken } from './csrf-token.js'

export type FormCheck =
  | 'own'
  /** The browser says it comes from a page of ours, but the form no longer fits: another session, cleared cookies. */
  | 'stale'
  /** Another site made the browser send it, or nobody knows who did. */
  | 'foreign'

/** Whether a form POST comes from a page of ours that this browser was shown, in this session. */
export function checkForm(
  request: FastifyRequest,
  options: { issuer: string; cookieKeys: readonly string[] }
): FormCheck {
  const { origin } = request.headers
  const site = request.headers['sec-fetch-site']
  const ourOrigin = new URL(options.issuer).origin
  // Old browsers and programs send neither header; then the form's own field has to do.
  if ((origin !== undefined && origin !== ourOrigin) || (site !== undefined && site !== 'same-origin')) return 'foreign'
  const owner = { browserId: request.browserId, sessionDigest: request.signedIn?.sessionDigest }
  const belongs = request.browserIsKnown && isCsrfToken(formOf(request).get('csrf_token'), options.cookieKeys, owner)
  if (belongs) return 'own'
  return origin === ourOrigin ? 'stale' : 'foreign'
}

/** Answers a form that came from elsewhere: nothing was changed, and the way back is a page of ours. */
export function refuseForeignForm(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, audit, retryUrl }: { issuer: string; audit: AuditTrail; retryUrl: string | undefined }
): FastifyReply {
  audit.record(request, { event: 'form_refused', userId: request.signedIn?.userId, reason: 'foreign_form' })
  return sendErrorPage(request, reply, { status: 403, reason: 'foreign_form', values: { issuer }, retryUrl })
}
