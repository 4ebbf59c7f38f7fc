import { errorLocation, isClientIdentifier, parseParameters, successLocation } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { sendErrorPage } from '../../http/send-error-page.js'
import { errorUri } from '../../http/send-oauth-error.js'
import type { AuditTrail } from '../../platform/audit/audit-trail.js'
import type { Allowance, AllowanceStore } from '../../storage/postgres/allowances.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { type IssueCodeDeps, issueCode } from '../codes/issue-code.js'
import {
  addPendingRequest,
  clientQuery,
  namedPendingRequest,
  reasonForReturn,
  stepUrl
} from '../pending-requests/pending-request.js'
import { type ValidatedRequest, type ValidationDeps, validateRequest } from '../pending-requests/validate-request.js'
import type { UnverifiedSession } from '../session/session-plugin.js'
import { nextStep, requiresSignIn, type SessionState } from '../steps/next-step.js'

export type AuthorizeRouteOptions = {
  issuer: string
  validation: ValidationDeps
  pending: Pick<PendingRequestStore, 'hold' | 'take'>
  allowances: AllowanceStore
  issue: IssueCodeDeps
  audit: AuditTrail
}

type Accepted = Extract<ValidatedRequest, { kind: 'accepted' }>
type RedirectError = Omit<Extract<ValidatedRequest, { kind: 'redirect_error' }>, 'kind'>
/** Errors that must not be sent by a redirect: the user sees a page. */
type ErrorPageReason = 'no_cookie' | Extract<ValidatedRequest, { kind: 'show_error_page' }>['reason']

/** `GET /oauth/authorize` (RFC 6749 §4.1.1): every request starts here, and sign-in returns here. */
export const authorizeRoutes: FastifyPluginAsync<AuthorizeRouteOptions> = async (pages, options) => {
  // No HEAD: it would store a pending authorization request or issue a code.
  const route = { exposeHeadRoute: false, config: { verifiesSession: true } }
  pages.get('/oauth/authorize', route, async (request, reply) => {
    const validated = await validateRequest(clientQuery(request), options.validation)
    switch (validated.kind) {
      case 'show_error_page':
        return showErrorPage(validated.reason, request, reply, options)
      case 'redirect_error':
        await recordRefusal(validated.error, request, options)
        return redirectError(validated, reply, options)
      case 'accepted':
        return serve(validated, request, reply, options)
    }
  })
}

/** Carries out the next step of an accepted request. */
async function serve(
  authorization: Accepted,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions
): Promise<FastifyReply> {
  const session = request.unverifiedSession
  const allowance = session && (await readAllowance(session, authorization, options))
  const isForThisRequest = requiresSignIn(authorization.request) && (await takeSignIn(request, options))
  const step = nextStep({ session: toSessionState(allowance, isForThisRequest), authorization })
  if (step === 'login_required' || step === 'consent_required') {
    await recordRefusal(step, request, options)
    return redirectError({ ...authorization.request, ...PAGE_REQUIRED[step] }, reply, options)
  }
  if (step === 'issue_code' && session !== undefined) {
    return issueAndRedirect({ ...authorization, session, allowance }, request, reply, options)
  }
  const query = clientQuery(request)
  const again = reasonForReturn(request)
  // A page has set our cookie and sent the browser here, and the browser did not send it.
  if (!request.browserIsKnown && again !== undefined) {
    return showErrorPage('no_cookie', request, reply, options, stepUrl(options.issuer, '/oauth/authorize', query))
  }
  const notice = again === 'interrupted' ? again : undefined
  if (step === 'sign_in' || session === undefined) {
    return reply.redirect(stepUrl(options.issuer, '/login', query, { again: notice }), 303)
  }
  const { id } = await addPendingRequest(request, session, options.pending)
  return reply.redirect(stepUrl(options.issuer, '/consent', query, { resume: id, again: notice }), 303)
}

/** One statement verifies the session and reads the remembered consent and the generations for the code. */
function readAllowance(
  { userId, userGeneration, sessionGeneration }: UnverifiedSession,
  { client }: Accepted,
  { allowances }: AuthorizeRouteOptions
): Promise<Allowance | undefined> {
  return allowances.read({ userId, userGeneration, sessionGeneration, clientId: client.clientId })
}

/** Whether the user has just signed in for this request. Each sign-in counts once. */
async function takeSignIn(request: FastifyRequest, { pending }: AuthorizeRouteOptions): Promise<boolean> {
  const signedInFor = namedPendingRequest(request, request.unverifiedSession)
  return signedInFor !== undefined && (await pending.take(signedInFor))
}

function toSessionState(allowance: Allowance | undefined, isForThisRequest: boolean): SessionState {
  if (allowance === undefined) return { kind: 'none' }
  return { kind: 'signed_in', isForThisRequest, rememberedScope: allowance.rememberedScope }
}

async function issueAndRedirect(
  granted: { request: Accepted['request']; session: UnverifiedSession; allowance: Allowance | undefined },
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions
): Promise<FastifyReply> {
  const { request: authorizationRequest, session, allowance } = granted
  const generations = allowance?.generations
  // The registry in memory does not know yet that the client was disabled.
  if (generations === undefined) return redirectError({ ...authorizationRequest, ...DISABLED }, reply, options)
  const { userId, userGeneration } = session
  const allowed = { userId, userGeneration, ...generations, scope: authorizationRequest.scope }
  const { code } = await issueCode(authorizationRequest, allowed, options.issue, request)
  return reply.redirect(successLocation({ ...authorizationRequest, issuer: options.issuer }, code), 303)
}

async function showErrorPage(
  reason: ErrorPageReason,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions,
  retryUrl?: string
): Promise<FastifyReply> {
  await recordRefusal(reason, request, options)
  return sendErrorPage(request, reply, { status: 400, reason, retryUrl })
}

async function recordRefusal(
  reason: string,
  request: FastifyRequest,
  { audit }: AuthorizeRouteOptions
): Promise<void> {
  const userId = (await request.verifySession())?.userId
  // The client_id as sent: no client needs to have it.
  const named = parseParameters(clientQuery(request)).get('client_id')
  const clientId = named !== undefined && isClientIdentifier(named) ? named : undefined
  audit.record(request, { event: 'authorization_refused', clientId, userId, reason })
}

function redirectError(refused: RedirectError, reply: FastifyReply, { issuer }: AuthorizeRouteOptions): FastifyReply {
  const failure = { ...refused, errorUri: errorUri(issuer, refused.error) }
  return reply.redirect(errorLocation({ ...refused, issuer }, failure), 303)
}

const PAGE_REQUIRED = {
  login_required: { error: 'login_required', description: 'The user must sign in.' },
  consent_required: { error: 'consent_required', description: 'The user must allow access.' }
} as const

const DISABLED = { error: 'access_denied', description: 'The account or app was disabled.' } as const
