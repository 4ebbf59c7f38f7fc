import type { FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../../platform/request-parts.js'
import { checkForm, type FormPage } from '../csrf/check-form.js'
import { clientQuery } from '../pending-requests/pending-request.js'
import type { ForeignSignOut } from '../session/foreign-sign-out.js'
import { closeSession, type SessionOptions } from '../session/session-plugin.js'
import { refuseForeign, startAgain } from './start-again.js'

/**
 * `POST /logout`: ends the session of this browser, or all sessions of the user. With `at_provider`, the browser goes on to the
 * provider, which ends its own session.
 */
export async function signOut(
  request: FastifyRequest,
  reply: FastifyReply,
  options: FormPage & { session: SessionOptions; foreignSignOut: Pick<ForeignSignOut, 'findUrl'> | undefined }
): Promise<FastifyReply> {
  const { issuer, session, audit, foreignSignOut } = options
  const check = checkForm(request, options)
  const query = clientQuery(request)
  if (check === 'foreign') return refuseForeign(request, reply, options)
  const user = request.signedIn
  if (check === 'stale' || user === undefined) return startAgain(query, reply, options)
  const everywhere = formOf(request).get('everywhere') === 'on'
  const endsAtProvider = formOf(request).get('at_provider') === 'on'
  const providerUrl = endsAtProvider ? await foreignSignOut?.findUrl(user, request) : undefined
  if (everywhere) await session.users.endSessions(user.userId)
  else await closeSession(request, session.sessions)
  const event = everywhere ? 'signed_out_everywhere' : 'signed_out'
  audit.record(request, { event, userId: user.userId })
  reply.clearCookie(session.cookies.names.session, session.cookies.attributes)
  if (providerUrl !== undefined) return reply.redirect(providerUrl, 303)
  return query === '' ? reply.redirect(`${issuer}/login?done=${event}`, 303) : startAgain(query, reply, options)
}
