import type { FastifyReply, FastifyRequest } from 'fastify'
import { checkForm, type FormPage, refuseForeignForm } from '../../browser/csrf/check-form.js'
import { createCsrfToken } from '../../browser/csrf/csrf-token.js'
import { isFresh, type SignedIn } from '../../browser/session/session-plugin.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import { type Limiter, TooManyAttempts } from '../../platform/rate-limits/limiter.js'
import { appFormLimit } from '../../platform/rate-limits/rules.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'
import type { OwnAppDeps } from './own-apps.js'

export type DeveloperPageOptions = FormPage &
  OwnAppDeps & {
    clientLogos: Pick<ClientLogoStore, 'save'>
    limiter: Pick<Limiter, 'count'>
    now: () => Date
    /** Resource identifier of the default API (`RESOURCE_URL`). */
    defaultAudience: string
  }

export type AppRequest = FastifyRequest<{ Params: { id: string } }>

export const appUrl = (issuer: string, clientId: string) => `${issuer}/account/developer/apps/${clientId}`

/** Sign-in, from which the browser comes back to the page below `/account`. */
export const confirmUrl = (issuer: string, page: string) => `${issuer}/login?page=${page}`

/**
 * Returns the user who sent a form of these pages. Undefined if the response was sent instead.
 * @param condition most changes need a fresh sign-in: who controls an app gets codes of its users
 */
export function userOfForm(
  request: FastifyRequest,
  reply: FastifyReply,
  page: string,
  { issuer, cookieKeys, audit, now }: FormPage & Pick<DeveloperPageOptions, 'now'>,
  condition: 'must_be_fresh' | 'any_session'
): SignedIn | undefined {
  const pageUrl = `${issuer}/account/${page}`
  const user = request.signedIn
  const check = checkForm(request, { issuer, cookieKeys })
  if (check === 'foreign') refuseForeignForm(request, reply, { issuer, audit, retryUrl: pageUrl })
  // The form was shown to another session: show the present state.
  else if (check === 'stale' || user === undefined) reply.redirect(pageUrl, 303)
  else if (condition === 'must_be_fresh' && !isFresh(user, now())) reply.redirect(confirmUrl(issuer, page), 303)
  else return user
  return undefined
}

/** The same response for another user's app and for an unknown app. */
export function refuse(
  { kind }: { kind: 'unknown_app' | 'session_ended' },
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer }: { issuer: string }
): FastifyReply {
  if (kind === 'session_ended') return reply.redirect(confirmUrl(issuer, 'developer'), 303)
  return sendErrorPage(request, reply, { status: 404, reason: 'not_found' })
}

export function csrfTokenFor(user: SignedIn, request: FastifyRequest, cookieKeys: readonly string[]): string {
  return createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash })
}

/** Counts a form that stores something. */
export async function mayStore(
  { userId }: SignedIn,
  { limiter }: Pick<DeveloperPageOptions, 'limiter'>
): Promise<boolean> {
  try {
    await limiter.count(appFormLimit(userId))
    return true
  } catch (error) {
    if (error instanceof TooManyAttempts) return false
    throw error
  }
}
