import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import type { WayBack } from '../../platform/audit/ways-back.js'
import { isFresh } from '../session/session-plugin.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the response leads back to an earlier step. The audit trail records it. */
    wayBack: WayBack | undefined
  }
}

/**
 * Records why a response leads back to an earlier step: as the handler or the check of the form says, or else as the session shows.
 * Every page has this hook, so no redirect to the sign-in page can forget it.
 */
export const waysBack = fastifyPlugin<{
  issuer: string
  /** Name of the session's cookie. */
  sessionCookie: string
  audit: Pick<AuditTrail, 'record'>
  now: () => Date
}>(
  async (pages, options) => {
    pages.decorateRequest('wayBack', undefined)
    pages.addHook('onSend', (request, reply, payload, done) => {
      const reason = request.wayBack ?? reasonOfSignIn(request, reply, options)
      const userId = request.signedIn?.userId
      if (reason !== undefined) options.audit.record(request, { event: 'step_refused', userId, reason })
      done(null, payload)
    })
  },
  { name: 'valetkey-ways-back', fastify: '5.x', dependencies: ['valetkey-session'] }
)

/** @returns undefined if the response is no redirect to the sign-in page, or the browser comes for the first time */
function reasonOfSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, sessionCookie, now }: { issuer: string; sessionCookie: string; now: () => Date }
): WayBack | undefined {
  const location = String(reply.getHeader('location') ?? '')
  const isSignIn = location === `${issuer}/login` || location.startsWith(`${issuer}/login?`)
  if (!isSignIn || request.cookies[sessionCookie] === undefined) return undefined
  // /oauth/authorize says itself whether there is the session: `prompt` can also require a new sign-in.
  if (request.routeOptions.config.verifiesSession === true) return undefined
  const { signedIn } = request
  if (signedIn === undefined) return 'unknown_session'
  if (!location.startsWith(`${issuer}/login?page=`)) return undefined
  return isFresh(signedIn, now()) ? 'session_ended' : 'sign_in_too_old'
}
