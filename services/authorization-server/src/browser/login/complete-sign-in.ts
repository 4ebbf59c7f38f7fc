import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { addPendingRequest, stepUrl } from '../pending-requests/pending-request.js'
import type { ValidatedRequest } from '../pending-requests/validate-request.js'
import { type NewSession, openSession, type SessionOptions } from '../session/session-plugin.js'
import { mayRequireSignIn } from '../steps/next-step.js'
import { wayCookieValue } from './sign-in-ways.js'

export type CompletionDeps = {
  issuer: string
  session: SessionOptions
  pending: Pick<PendingRequestStore, 'add'>
}

/** The place to which the browser goes after sign-in. It is never an address of a request: that would be an open redirect. */
export type Destination = {
  /** The client's query; empty without an authorization request. */
  query: string
  /** The authorization request of the query. */
  authorization: Extract<ValidatedRequest, { kind: 'accepted' | 'client_unread' }> | undefined
  /** Page of the account, as `accountPage` returns it, for a sign-in without an authorization request. */
  page?: string | undefined
}

const LAST_WAY_SECONDS = 365 * 86_400

/** Every way to sign in ends here: opens the session and sends the browser to its next step. */
export async function completeSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  signIn: NewSession,
  destination: Destination,
  deps: CompletionDeps
): Promise<FastifyReply> {
  const { session } = deps
  const { names, attributes } = session.cookies
  const owner = await openSession(request, reply, signIn, session)
  reply.setCookie(names.lastWay, wayCookieValue(signIn.way), { ...attributes, maxAge: LAST_WAY_SECONDS })
  return redirectSignedIn(request, reply, owner, destination, deps)
}

/** Sends a signed-in browser to its next step. The session counts as a sign-in for the authorization request, once. */
export async function redirectSignedIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { userId, sessionHash }: { userId: string; sessionHash: string },
  { query, authorization, page = 'apps' }: Destination,
  { issuer, pending }: Pick<CompletionDeps, 'issuer' | 'pending'>
): Promise<FastifyReply> {
  if (query === '') return reply.redirect(`${issuer}/account/${page}`, 303)
  if (authorization === undefined || !mayRequireSignIn(authorization.request)) {
    return reply.redirect(stepUrl(issuer, '/oauth/authorize', query), 303)
  }
  // Tells /oauth/authorize that the user has signed in for this request. An edited address cannot.
  const { id } = await addPendingRequest(request.browserId, query, { userId, sessionHash }, pending)
  return reply.redirect(stepUrl(issuer, '/oauth/authorize', query, { resume: id }), 303)
}
