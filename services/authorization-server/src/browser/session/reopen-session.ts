import type { FastifyReply, FastifyRequest } from 'fastify'
import { decryptIdToken, type NewSession, openSession, type SessionOptions } from './session-plugin.js'

/**
 * Lets the session of this browser go on under a new id and the user's new generations, after all sessions of the user have
 * ended. It ends when the earlier one would have.
 * @param confirmedAt when the user has just given the password; undefined if not
 */
export async function reopenSession(
  request: FastifyRequest,
  reply: FastifyReply,
  { user, confirmedAt }: { user: NewSession['user']; confirmedAt?: Date | undefined },
  session: SessionOptions
): Promise<void> {
  const earlier = request.signedIn
  if (earlier === undefined) return
  const { way, authenticatedAt } = earlier
  const at = confirmedAt ?? (authenticatedAt === undefined ? undefined : new Date(authenticatedAt))
  const idToken = decryptIdToken(request, session)
  await openSession(request, reply, { user, way, authenticatedAt: at, idToken }, session, earlier)
}
