import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from '../../features/foreign-sign-in/providers/provider.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import { formOf } from '../../platform/request-parts.js'
import { checkForm } from '../csrf/check-form.js'
import { clientQuery } from '../pending-requests/pending-request.js'
import { closeSession, decryptIdToken, type SessionOptions, type SignedIn } from '../session/session-plugin.js'
import { refuseForeign, type SignInPageOptions, startAgain } from './start-again.js'

export type SignOutOptions = SignInPageOptions & {
  session: SessionOptions
  audit: AuditTrail
  providers: readonly Provider[]
}

/**
 * `POST /logout`: ends the session of this browser, or all sessions of the user. With `at_provider`, the browser goes on to the
 * provider, which ends its own session.
 */
export async function signOut(
  request: FastifyRequest,
  reply: FastifyReply,
  options: SignOutOptions
): Promise<FastifyReply> {
  const { issuer, session, audit } = options
  const check = checkForm(request, options)
  const query = clientQuery(request)
  if (check === 'foreign') return refuseForeign(request, reply, options)
  const user = request.signedIn
  if (check === 'stale' || user === undefined) return startAgain(query, reply, options)
  const everywhere = formOf(request).get('everywhere') === 'on'
  const endsAtProvider = formOf(request).get('at_provider') === 'on'
  const providerUrl = endsAtProvider ? await findEndSessionUrl(user, request, options) : undefined
  if (everywhere) await session.users.endSessions(user.userId)
  await closeSession(request, session.sessions)
  const event = everywhere ? 'signed_out_everywhere' : 'signed_out'
  audit.record(request, { event, userId: user.userId })
  reply.clearCookie(session.cookies.names.session, session.cookies.attributes)
  if (providerUrl !== undefined) return reply.redirect(providerUrl, 303)
  return query === '' ? reply.redirect(`${issuer}/login?done=${event}`, 303) : startAgain(query, reply, options)
}

/** Undefined if the session began elsewhere, or the provider does not respond: the user is signed out here anyway. */
async function findEndSessionUrl(
  { way }: SignedIn,
  request: FastifyRequest,
  { issuer, session, providers }: SignOutOptions
): Promise<string | undefined> {
  const provider = way.kind === 'provider' ? providers.find(({ settings }) => settings.id === way.id) : undefined
  const idToken = decryptIdToken(request, session)
  if (provider === undefined || idToken === undefined) return undefined
  return provider.endSessionUrl(idToken, `${issuer}/login?done=signed_out`)
}
