import type { HandoffClaims, HandoffSettings } from '@valetkey/sign-in-rules'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { startAgain } from '../../../browser/login/start-again.js'
import { stepUrl } from '../../../browser/pending-requests/pending-request.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { createUserOf } from '../identities/create-user.js'
import { restartUrl, takeForeignSignIn } from '../identities/foreign-sign-in.js'
import { receiveIdentity } from '../identities/receive-identity.js'
import type { ForeignSignIn } from '../identities/sign-in-attempt-store.js'
import { type SignInProblem, showSignInProblem } from '../identities/sign-in-problem.js'
import { verifyAssertion } from './verify-assertion.js'

export type HandoffDeps = ForeignSignInDeps & { settings: HandoffSettings }

/** The time is that of providers by default: users who left are signed out within a working day. */
const SESSION_SECONDS = 12 * 3600

/** Signs in the user of an assertion, if this browser began the sign-in. */
export async function receiveAssertion(
  assertion: string,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HandoffDeps
): Promise<FastifyReply> {
  const { issuer, settings, identities, now } = deps
  const outcome = await verifyAssertion(assertion, settings, issuer, now())
  if (outcome.kind === 'refused') {
    // The request stays valid: the login page may be repaired and send the user again.
    return refuse({ status: 400, reason: 'misconfigured', attempt: undefined }, outcome.reason, request, reply, deps)
  }
  const { claims } = outcome
  const found = await takeForeignSignIn(request, 'handoff', claims.nonce, deps)
  if (found.kind === 'other_browser' || found.kind === 'unknown') {
    return refuse({ status: 400, reason: found.kind, attempt: undefined }, found.kind, request, reply, deps)
  }
  const { kind, attempt } = found
  if (kind === 'used') return repeatOrRefuse(claims, attempt, request, reply, deps)
  if (kind === 'expired' || outcome.kind === 'expired') {
    record(kind === 'expired' ? 'expired_request' : 'expired_assertion', request, deps)
    return startOver(attempt, reply, issuer)
  }
  const { subject, displayName, authenticatedAt } = claims
  const identity = { issuer: settings.issuer, subject }
  const received = {
    ...identity,
    label: settings.label,
    way: { kind: 'handoff', ...identity },
    displayName,
    authenticatedAt,
    maxSeconds: SESSION_SECONDS
  } as const
  const creates = settings.provisioning === 'create' && attempt.purpose.kind === 'sign_in'
  const newUser = { username: displayName, displayName, way: 'handoff' }
  const createUser = creates ? () => createUserOf(identity, newUser, request, identities) : undefined
  return receiveIdentity(received, attempt, request, reply, deps, createUser)
}

/** The user stopped at the login page. */
export async function receiveRefusal(
  { id, error }: { id: string | undefined; error: string },
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HandoffDeps
): Promise<FastifyReply> {
  const found = await takeForeignSignIn(request, 'handoff', id, deps)
  if (found.kind === 'other_browser' || found.kind === 'unknown') {
    return refuse({ status: 400, reason: found.kind, attempt: undefined }, found.kind, request, reply, deps)
  }
  const { attempt } = found
  const restart = restartUrl(attempt, deps.issuer)
  if (restart !== undefined && error === 'access_denied') {
    record('stopped', request, deps)
    return reply.redirect(restart, 303)
  }
  // Other codes are not part of the hand-off.
  const problem =
    error === 'access_denied'
      ? ({ status: 403, reason: 'stopped', attempt } as const)
      : ({ status: 400, reason: 'misconfigured', attempt } as const)
  return refuse(problem, problem.reason, request, reply, deps)
}

/**
 * A request is sent twice by a double click or the Back button: the user who is signed in by it goes on. Of two responses at the
 * same moment, the later one comes without the cookie of the session that the other opens. So a browser without a session goes
 * back to the step, which knows whether the user is signed in by then. Only the browser that began the sign-in gets here.
 */
function repeatOrRefuse(
  { subject }: HandoffClaims,
  attempt: ForeignSignIn,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HandoffDeps
): Promise<FastifyReply> | FastifyReply {
  const way = request.signedIn?.way
  const isSame = way?.kind === 'handoff' && way.issuer === deps.settings.issuer && way.subject === subject
  if (isSame) return goOn(attempt, reply, deps.issuer)
  if (request.signedIn !== undefined && restartUrl(attempt, deps.issuer) === undefined)
    return refuse({ status: 400, reason: 'unknown', attempt }, 'assertion_reused', request, reply, deps)
  record('assertion_reused', request, deps)
  return startOver(attempt, reply, deps.issuer)
}

function goOn({ query, purpose }: ForeignSignIn, reply: FastifyReply, issuer: string): FastifyReply {
  const page = purpose.kind === 'confirm' || purpose.kind === 'sign_in' ? (purpose.page ?? 'apps') : 'sign-ins'
  const next = query === '' ? `${issuer}/account/${page}` : stepUrl(issuer, '/oauth/authorize', query)
  return reply.redirect(next, 303)
}

/** The stored query makes a new start possible. */
function startOver(attempt: ForeignSignIn, reply: FastifyReply, issuer: string): FastifyReply {
  const { query, purpose } = attempt
  const restart = restartUrl(attempt, issuer)
  if (restart !== undefined) return reply.redirect(restart, 303)
  if (purpose.kind === 'confirm') return reply.redirect(`${issuer}/login?page=${purpose.page}&again=interrupted`, 303)
  return startAgain(query, reply, { issuer }, 'interrupted')
}

function refuse(
  problem: Omit<SignInProblem, 'label'>,
  reason: string,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HandoffDeps
): Promise<FastifyReply> {
  const { settings } = deps
  record(reason, request, deps)
  return showSignInProblem(request, reply, { ...problem, label: settings.label }, deps)
}

function record(reason: string, request: FastifyRequest, { audit }: HandoffDeps): void {
  audit.record(request, { event: 'sign_in_failed', reason: `handoff_${reason}` })
}
