import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import { formOf } from '../../platform/request-parts.js'
import { isCsrfToken } from './csrf-token.js'

/** What a page with a form needs to make and check it, and to refuse the forms of other sites. */
export type FormPage = { issuer: string; cookieKeys: readonly string[]; audit: AuditTrail }

export type FormCheck =
  | 'own'
  /** The form is from a page of ours, but the CSRF token is invalid: the session has changed or the cookies were deleted. */
  | 'stale'
  /** The form is from another site, or of unknown origin. */
  | 'foreign'

/**
 * Checks that a form POST comes from a page that was shown to this browser in this session. The audit trail records why not, of
 * `foreign` by `refuseForeignForm`.
 */
export function checkForm(request: FastifyRequest, options: Pick<FormPage, 'issuer' | 'cookieKeys'>): FormCheck {
  const { origin } = request.headers
  const isFromOurPage = origin === new URL(options.issuer).origin || isFromPageWithoutReferrer(request)
  // Old browsers and programs send neither header. The CSRF token decides alone then.
  if ((origin !== undefined && !isFromOurPage) || isFromAnotherOrigin(request)) return 'foreign'
  const owner = { browserId: request.browserId, sessionHash: request.signedIn?.sessionHash }
  const isValid = request.browserIsKnown && isCsrfToken(formOf(request).get('csrf_token'), options.cookieKeys, owner)
  if (isValid) return 'own'
  if (!isFromOurPage) return 'foreign'
  request.wayBack = request.browserIsKnown ? 'stale_form' : 'no_cookie'
  return 'stale'
}

/** Whether the browser says that no page of our origin sent the request (`Sec-Fetch-Site`). */
export function isFromAnotherOrigin({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const site = headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin'
}

/**
 * With `Referrer-Policy: no-referrer`, which a proxy may add to our pages, browsers send `Origin: null` also to the page's own
 * origin (Fetch, "append a request `Origin` header"). No page of another origin can send this value of `Sec-Fetch-Site`.
 */
function isFromPageWithoutReferrer({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.origin === 'null' && headers['sec-fetch-site'] === 'same-origin'
}

/** Refuses a form from another site. The error page links only to a page of ours. */
export function refuseForeignForm(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, audit, retryUrl }: Pick<FormPage, 'issuer' | 'audit'> & { retryUrl: string | undefined }
): FastifyReply {
  audit.record(request, { event: 'form_refused', userId: request.signedIn?.userId, reason: 'foreign_form' })
  // Old browsers send no `Sec-Fetch-Site`, so a form of ours cannot be told from a foreign one. The page names the header.
  const { origin, 'sec-fetch-site': site } = request.headers
  const reason = origin === 'null' && site === undefined ? 'form_without_origin' : 'foreign_form'
  return sendErrorPage(request, reply, { status: 403, reason, values: { issuer }, retryUrl })
}
