import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientQuery, sentRequest, stepUrl } from '../pending-requests/pending-request.js'
import { type ValidatedRequest, type ValidationDeps, validateRequest } from '../pending-requests/validate-request.js'
import { authenticationAge, isFresh, type SessionOptions } from '../session/session-plugin.js'
import { asksForAccountOnly, nextStep, stateOfPage } from '../steps/next-step.js'
import { accountPage } from './account-page.js'

/** The authorization request in the address. Undefined if the user opened the page without one. */
type Authorization = Extract<ValidatedRequest, { kind: 'accepted' | 'client_unread' }> | undefined

/** What the user is asked to sign in for: an authorization request, a page of the account, or neither. */
export type SignInRequest = {
  authorization: Authorization
  page: string | undefined
  /** Whether the user may choose the account of the session instead of a new sign-in. */
  canContinue: boolean
}

/**
 * @returns undefined if signing in is not the next step of this request and session; `/oauth/authorize` reports an invalid
 *   authorization request
 */
export async function findSignInRequest(
  request: FastifyRequest,
  deps: ValidationDeps & { session: Pick<SessionOptions, 'now'> }
): Promise<SignInRequest | undefined> {
  const sent = sentRequest(request)
  const validated = sent.query === '' ? undefined : await validateRequest(sent, deps, request)
  if (validated !== undefined && validated.kind !== 'accepted' && validated.kind !== 'client_unread') return undefined
  const page = accountPage(request)
  const user = request.signedIn
  const now = deps.session.now()
  const mustConfirm = page !== undefined && user !== undefined && !isFresh(user, now)
  const age = user && authenticationAge(user, now)
  const session = stateOfPage(user, age)
  const step = nextStep({ session, authorization: validated, mustConfirm })
  if (step !== 'sign_in') return undefined
  const canContinue = user !== undefined && validated !== undefined && asksForAccountOnly(validated.request, age)
  return { authorization: validated, page, canContinue }
}

/** The client's query, or the page of the account, for an address of this step. */
export function stepQuery(request: FastifyRequest): string {
  const page = accountPage(request)
  return clientQuery(request) || (page === undefined ? '' : `page=${page}`)
}

/** Redirects to the step that serves the request; without a request, to the page of the account. */
export function redirectToNextStep(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer }: { issuer: string }
): FastifyReply {
  const query = clientQuery(request)
  const account = `${issuer}/account/${accountPage(request) ?? 'apps'}`
  return reply.redirect(query === '' ? account : stepUrl(issuer, '/oauth/authorize', query), 303)
}
