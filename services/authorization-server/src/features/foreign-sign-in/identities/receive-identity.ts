import type { FastifyReply, FastifyRequest } from 'fastify'
import { completeSignIn } from '../../../browser/login/complete-sign-in.js'
import { storedRequest } from '../../../browser/pending-requests/pending-request.js'
import { validateRequest } from '../../../browser/pending-requests/validate-request.js'
import { authenticationAge, isFresh } from '../../../browser/session/session-plugin.js'
import type { SignInParameters } from '../../../browser/steps/next-step.js'
import type { SessionWay } from '../../../storage/postgres/sessions.js'
import type { User } from '../../../storage/postgres/users.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import type { IdentityKey } from './identity-store.js'
import { proposeLink } from './propose-link.js'
import type { ForeignSignIn, SignInPurpose } from './sign-in-attempt-store.js'
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
  if (isTooOld(authenticatedAt, { purpose, request: authorization?.request }, now())) {
    return refuse('not_confirmed', user.userId)
  }
  await identities.noteSignIn(identity, identity.displayName)
  audit.record(request, { event: 'sign_in_succeeded', userId: user.userId, reason: way.kind })
  const destination = { query, authorization, page: purpose.page }
  return completeSignIn(request, reply, { user, way, authenticatedAt, maxSeconds, idToken }, destination, deps)
}

/** Whether the person was authenticated too long ago for what the identity is wanted for. */
function isTooOld(
  since: Date | undefined,
  { purpose, request }: { purpose: SignInPurpose; request: SignInParameters | undefined },
  now: Date
): boolean {
  const session = { authenticatedAt: since?.getTime() }
  if (isFresh(session, now)) return false
  if (purpose.kind === 'confirm') return true
  const age = authenticationAge(session, now)
  // A provider that does not say when it authenticated the person got prompt=login; more cannot be known.
  if (request === undefined || age === undefined) return false
  return request.prompt.includes('login') || (request.maxAge !== undefined && age > request.maxAge)
}
