import { cleanDisplayName, evaluateGate, ownClaim, type ProviderFailure, readSessionId } from '@valetkey/sign-in-rules'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { stepUrl } from '../../../browser/pending-requests/pending-request.js'
import { type LimitReason, TooManyAttempts } from '../../../platform/rate-limits/limiter.js'
import { providerAddressLimit } from '../../../platform/rate-limits/rules.js'
import { rawQuery } from '../../../platform/request-parts.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { createUserOf } from '../identities/create-user.js'
import { queryOfAttempt, restartUrl, takeForeignSignIn } from '../identities/foreign-sign-in.js'
import { mustConfirm } from '../identities/foreign-sign-in-request.js'
import { type ReceivedIdentity, receiveIdentity } from '../identities/receive-identity.js'
import type { ForeignSignIn } from '../identities/sign-in-attempt-store.js'
import { showSignInProblem } from '../identities/sign-in-problem.js'
import { describeError } from './classify-error.js'
import type { Provider, ProviderSignIn } from './provider.js'
import type { UnreadUserInfo } from './user-info.js'

const RETRY_AFTER_SECONDS = 5

/**
 * `GET /login/with/<id>/callback`: the authorization response of a provider. Order: browser, state, `iss`, `error`, code, so that
 * nothing is decided by a response that another browser or another provider caused.
 */
export async function receiveResponse(
  provider: Provider,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForeignSignInDeps
): Promise<FastifyReply> {
  const { label, id } = provider.settings
  const query = rawQuery(request)
  const states = new URLSearchParams(query).getAll('state')
  const taken = await takeForeignSignIn(request, id, states.length === 1 ? states[0] : undefined, deps)
  switch (taken.kind) {
    case 'unknown':
    case 'other_browser': {
      const status = taken.kind === 'unknown' ? 400 : 403
      deps.audit.record(request, { event: 'sign_in_failed', reason: `${taken.kind}_state` })
      const problem = { status, reason: taken.kind, label, attempt: undefined }
      return showSignInProblem(request, reply, problem, deps)
    }
    // The page was reloaded, or the user was slow. The request goes on where it is: an earlier response may have signed in.
    case 'used':
    case 'expired':
      deps.audit.record(request, { event: 'sign_in_failed', reason: `${taken.kind}_state` })
      return continueWith(taken.attempt, reply, deps)
    case 'taken':
      return finish(provider, taken.attempt, request, reply, deps)
  }
}

function continueWith(attempt: ForeignSignIn, reply: FastifyReply, { issuer }: { issuer: string }): FastifyReply {
  const next = stepUrl(issuer, attempt.query === '' ? '/login' : '/oauth/authorize', queryOfAttempt(attempt))
  return reply.redirect(restartUrl(attempt, issuer) ?? next, 303)
}

async function finish(
  provider: Provider,
  attempt: ForeignSignIn,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForeignSignInDeps
): Promise<FastifyReply> {
  const { settings } = provider
  const { audit } = deps
  const query = rawQuery(request)
  const state = new URLSearchParams(query).get('state') ?? ''
  const secrets = { state, nonce: attempt.nonce, verifier: attempt.verifier }
  const result = await withinLimit(request.ip, deps, () => provider.finish(query, secrets, mustConfirm(attempt)))
  if (result.kind === 'too_many') return showTooMany(result, attempt, settings.label, request, reply, deps)
  if (result.kind === 'failed') return showFailure(provider, result, attempt, request, reply, deps)
  if (result.unread !== undefined) noteUnread(settings.id, result.unread, request)
  const gate = evaluateGate(result.claims, settings.require)
  if (gate.kind === 'refused') {
    audit.record(request, { event: 'sign_in_failed', reason: gate.reason })
    const problem = { status: 403, reason: 'not_admitted', label: settings.label, attempt } as const
    return showSignInProblem(request, reply, problem, deps)
  }
  const identity = toIdentity(provider, result, attempt.startedAt, deps.now())
  const creates = settings.provisioning === 'create' && attempt.purpose.kind === 'sign_in'
  const username = ownClaim(result.claims, settings.usernameClaim)
  const newUser = { username, displayName: identity.displayName, way: settings.id }
  const createUser = () => createUserOf(identity, newUser, request, deps.identities)
  return receiveIdentity(identity, attempt, request, reply, deps, creates ? createUser : undefined)
}

/** A warning and no failure: the sign-in goes on with the names that are known. */
function noteUnread(provider: string, { failure, error }: UnreadUserInfo, request: FastifyRequest): void {
  const fields = { event: 'user_info_unread', provider, reason: failure.reason, detail: describeError(error) }
  request.log.warn(fields, 'the UserInfo of a provider was not read')
}

type TooMany = { kind: 'too_many'; reason: LimitReason; retryAfterSeconds: number }

/** The failures for which the browser may have invented the code. An outage is not the fault of the user. */
const COUNTED: readonly string[] = ['invalid_grant', 'wrong_nonce', 'http_4xx', 'malformed_code']

/** Only codes that the provider refuses count. */
async function withinLimit(
  address: string,
  { limiter }: Pick<ForeignSignInDeps, 'limiter'>,
  evaluate: () => Promise<ProviderSignIn>
): Promise<ProviderSignIn | TooMany> {
  try {
    return await limiter.attempt({
      limits: [providerAddressLimit(address)],
      isKnown: false,
      evaluate,
      isFailure: (result) => result.kind === 'failed' && COUNTED.includes(result.failure.reason)
    })
  } catch (error) {
    if (!(error instanceof TooManyAttempts)) throw error
    return { kind: 'too_many', reason: error.reason, retryAfterSeconds: error.retryAfterSeconds }
  }
}

function showTooMany(
  { reason, retryAfterSeconds }: TooMany,
  attempt: ForeignSignIn,
  label: string,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForeignSignInDeps
): Promise<FastifyReply> {
  deps.audit.record(request, { event: 'sign_in_failed', reason })
  reply.header('retry-after', String(retryAfterSeconds))
  // Attempts wait only for others that wait for the provider: no limit of failures is reached. No 503: alerts count it, and any
  // person can send many callbacks at once.
  const page = reason === 'too_many_at_once' ? 'unavailable' : 'too_many'
  return showSignInProblem(request, reply, { status: 429, reason: page, label, attempt }, deps)
}

function toIdentity(
  { settings }: Provider,
  { claims, idToken }: Extract<ProviderSignIn, { kind: 'verified' }>,
  startedAt: number,
  now: Date
): ReceivedIdentity {
  const { issuer, id, label, sessionHours } = settings
  const { sub: subject, iat: issuedAt, auth_time: authTime, name } = claims
  return {
    issuer,
    subject,
    label,
    way: { kind: 'provider', id, issuer, subject, sid: readSessionId(claims), issuedAt, startedAt },
    displayName: cleanDisplayName(name),
    // The time is not later than now: a provider whose clock is ahead must not make the session fresh for longer.
    authenticatedAt: typeof authTime === 'number' ? new Date(Math.min(authTime * 1000, now.getTime())) : undefined,
    maxSeconds: Math.ceil(sessionHours * 3600),
    idToken
  }
}

/** The page for a sign-in that the provider did not complete. Never shows text of the provider (`error_description`). */
export function showFailure(
  { settings }: Provider,
  { failure, error }: { failure: ProviderFailure; error?: unknown },
  attempt: Pick<ForeignSignIn, 'query' | 'way' | 'purpose'>,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ForeignSignInDeps
): Promise<FastifyReply> {
  const { page, status, level, reason } = failure
  const { id, label } = settings
  deps.audit.record(request, { event: 'sign_in_failed', reason })
  if (level !== 'info') {
    const detail = error === undefined ? undefined : describeError(error)
    request.log[level]({ event: 'provider_failed', provider: id, reason, detail }, 'sign-in with a provider failed')
  }
  if (status === 503) reply.header('retry-after', String(RETRY_AFTER_SECONDS))
  return showSignInProblem(request, reply, { status, reason: page, label, attempt }, deps)
}
