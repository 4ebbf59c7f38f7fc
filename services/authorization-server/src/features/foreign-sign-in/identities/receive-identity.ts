import type { FastifyReply, FastifyRequest } from 'fastify'
import { completeSignIn } from '../../../browser/login/complete-sign-in.js'
import { storedRequest } from '../../../browser/pending-requests/pending-request.js'
import { validateRequest } from '../../../browser/pending-requests/validate-request.js'
import { isFresh } from '../../../browser/session/session-plugin.js'
import type { SessionWay } from '../../../storage/postgres/sessions.js'
import type { User } from '../../../storage/postgres/users.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import type { IdentityKey } from './identity-store.js'
import { proposeLink } from './propose-link.js'
import type { ForeignSignIn } from './sign-in-attempt-store.js'
import { showSignInProblem } from './sign-in-problem.js'

/** A person whom a provider or a login page has authenticated; every signature and claim is verified. */
export type ReceivedIdentity = IdentityKey & {
  /** Name of the way on the pages. */
  label: string
  way: SessionWay
  displayName: string | undefined
  /** When the person was authenticated there, if it says so. */
  authenticatedAt: Date | undefined
  maxSeconds?: number | undefined
  /** The token for signing out at the provider, too. */
  idToken?: string | undefined
}

/**
 * Signs in the user who is linked to the identity.
 * @param createUser for a provider that creates users; undefined if the identity must be linked already
 */
export async function receiveIdentity(
  identity: ReceivedIdentity,
  attempt: ForeignSignIn,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForeignSignInDeps,
  createUser?: () => Promise<User | undefined>
): Promise<FastifyReply> {
  const { identities, audit, now } = deps
  const { label, way, authenticatedAt, maxSeconds, idToken } = identity
  const { query, purpose } = attempt
  if (purpose.kind === 'link' || purpose.kind === 'invitation') {
    return proposeLink(identity, purpose, request, reply, deps)
  }
  const refuse = (reason: 'not_linked' | 'not_confirmed', userId?: string) => {
    audit.record(request, { event: 'sign_in_failed', userId, reason })
    return showSignInProblem(request, reply, { status: 403, reason, label, attempt }, deps)
  }
  const user = (await identities.findUser(identity)) ?? (await createUser?.())
  // A disabled user gets the same page, so that the page says nothing about accounts.
  if (user === undefined || user.disabled) return refuse('not_linked', user?.userId)
  const validated = query === '' ? undefined : await validateRequest(storedRequest(query), deps, request)
  const authorization = validated?.kind === 'accepted' || validated?.kind === 'client_unread' ? validated : undefined
  // A provider that does not say when it authenticated the user got prompt=login; more cannot be known.
  const isKnown = authenticatedAt !== undefined && authorization?.request.prompt.includes('login') === true
  const session = { authenticatedAt: authenticatedAt?.getTime() }
  if ((purpose.kind === 'confirm' || isKnown) && !isFresh(session, now())) {
    return refuse('not_confirmed', user.userId)
  }
  await identities.noteSignIn(identity, identity.displayName)
  audit.record(request, { event: 'sign_in_succeeded', userId: user.userId, reason: way.kind })
  const destination = { query, authorization, page: purpose.page }
  return completeSignIn(request, reply, { user, way, authenticatedAt, maxSeconds, idToken }, destination, deps)
}
