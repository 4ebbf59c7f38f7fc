import { isClientId, successLocation } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { RefusalObserver } from '../../http/refusal-observer.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import { type ClientRefusal, pageOfRefusal } from '../../platform/clients/document-refusal.js'
import { queryOf } from '../../platform/request-parts.js'
import type { AllowanceStore, AllowedGenerations } from '../../storage/postgres/allowances.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { type Allowed, type IssueCodeDeps, type IssuedCode, issueCode } from '../codes/issue-code.js'
import {
  addPendingRequest,
  clientQuery,
  namedPendingRequest,
  reasonForReturn,
  sentRequest,
  stepUrl
} from '../pending-requests/pending-request.js'
import { decideOnce, type ReferredRequest } from '../pending-requests/request-references.js'
import {
  type ValidatedRequest,
  type ValidationDeps,
  validateRequest,
  withoutScope
} from '../pending-requests/validate-request.js'
import { authenticationAge, type SessionOptions } from '../session/session-plugin.js'
import { mayRequireSignIn, nextStep, type SessionState } from '../steps/next-step.js'
import { findHomePage } from './find-home-page.js'
import { DISABLED, PAGE_REQUIRED, sendError, sentByApp } from './send-error.js'

export type AuthorizeRouteOptions = ValidationDeps &
  IssueCodeDeps & {
    issuer: string
    pending: Pick<PendingRequestStore, 'add' | 'take'>
    allowances: AllowanceStore
    sessionUses: SessionOptions['sessionUses']
    refusals: Pick<RefusalObserver, 'authorizationRefused'>
    /** Postgres's clock. */
    now: () => Date
  }

type Unread = Extract<ValidatedRequest, { kind: 'client_unread' }>
type Accepted = Extract<ValidatedRequest, { kind: 'accepted' }>
/** Errors that must not be sent by a redirect: the user sees a page. */
type ErrorPageReason = 'no_cookie' | Extract<ValidatedRequest, { kind: 'show_error_page' }>['reason']

/** `GET /oauth/authorize` (RFC 6749 §4.1.1): every request starts here, and sign-in returns here. */
export const authorizeRoutes: FastifyPluginAsync<AuthorizeRouteOptions> = async (pages, options) => {
  // No HEAD: it would store a pending authorization request or issue a code.
  const route = { exposeHeadRoute: false, config: { verifiesSession: true } }
  pages.get('/oauth/authorize', route, async (request, reply) => {
    const validated = await validateRequest(sentRequest(request), options, request)
    switch (validated.kind) {
      case 'show_error_page':
        return refuseOnPage(validated.reason, request, reply, options)
      case 'client_refused':
        return refuseClient(validated.refusal, request, reply, options)
      case 'client_unread':
        return signInFirst(validated, request, reply, options)
      case 'redirect_error':
        options.refusals.authorizationRefused(request, { reason: validated.error, sent: validated })
        await recordRefusal(validated.error, request, options)
        return sendError(validated, request, reply, options)
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
  const { redirectUri, state } = authorization.request
  const { showsErrors } = authorization
  const user = await findUser(authorization, request, options)
  // The registry in memory does not contain the change yet.
  if (user?.kind === 'client_disabled') {
    await recordRefusal('client_disabled', request, options)
    return sendError({ ...DISABLED, redirectUri, state, showsErrors }, request, reply, options)
  }
  const step = nextStep({ session: user?.state ?? { kind: 'none' }, authorization })
  if (step === 'login_required' || step === 'consent_required') {
    options.refusals.authorizationRefused(request, { reason: step, sent: PAGE_REQUIRED[step] })
    await recordRefusal(step, request, options)
    return sendError({ ...PAGE_REQUIRED[step], redirectUri, state, showsErrors }, request, reply, options)
  }
  if (user === undefined || step === 'sign_in') return redirectToPage('/login', undefined, request, reply, options)
  if (step !== 'issue_code' || user.generations === undefined) {
    return redirectToPage('/consent', user.session, request, reply, options)
  }
  const { userGeneration, session } = user
  const scope = authorization.request.scope.filter((name) => user.state.rememberedScope.includes(name))
  const { newestScope, sendsAuthTime } = authorization
  const authenticatedAt = sendsAuthTime ? user.authenticatedAt : undefined
  const { generations, rememberedUntil: endsAt } = user
  const allowed = {
    userId: session.userId,
    authenticatedAt,
    userGeneration,
    ...generations,
    scope,
    newestScope,
    endsAt
  }
  const { referred } = authorization
  const issued =
    referred === undefined
      ? await issueCode(authorization.request, allowed, options, request)
      : await issueCodeOnce(referred, authorization, { allowed, options, request })
  if (issued === undefined) return refuseOnPage('invalid_request_uri', request, reply, options)
  return reply.redirect(successLocation({ ...authorization.request, issuer: options.issuer }, issued.code), 303)
}

/** The remembered consent is the decision, so it uses up the request. */
function issueCodeOnce(
  referred: ReferredRequest,
  authorization: Accepted,
  { allowed, options, request }: { allowed: Allowed; options: AuthorizeRouteOptions; request: FastifyRequest }
): Promise<IssuedCode | undefined> {
  return decideOnce(referred, () => issueCode(authorization.request, allowed, options, request))
}

type FoundUser =
  | { kind: 'client_disabled' }
  | {
      kind: 'signed_in'
      session: { userId: string; sessionHash: string }
      userGeneration: number
      authenticatedAt: number | undefined
      state: Extract<SessionState, { kind: 'signed_in' }>
      /** As in `Allowance`. */
      rememberedUntil: number | undefined
      /** Undefined for a discovered client that was never allowed: it has no row yet, and its users are always asked. */
      generations: AllowedGenerations | undefined
    }

/** One statement verifies session and user, and reads the remembered consent and the generations for the code. */
async function findUser(
  { client, request: authorizationRequest, selectingScope }: Accepted,
  request: FastifyRequest,
  { allowances, sessionUses, pending, now }: AuthorizeRouteOptions
): Promise<FoundUser | undefined> {
  const { sessionHash } = request
  if (sessionHash === undefined) return undefined
  const { clientId } = client
  const allowance = await allowances.read({ sessionHash, clientId, audience: authorizationRequest.audience })
  if (allowance === undefined) {
    request.wayBack = 'unknown_session'
    return undefined
  }
  if (allowance.isUseDue) sessionUses.note(sessionHash)
  const { userId, userGeneration, authenticatedAt, declinedScope, generations } = allowance
  const { rememberedUntil } = allowance
  // Each Allow needs a choice of its own. The consent may be from before the scope selected.
  const rememberedScope = withoutScope(allowance.rememberedScope, selectingScope)
  const session = { userId, sessionHash }
  if (generations === undefined && client.isDiscovered !== true) return { kind: 'client_disabled' }
  // The sign-in page stored this pending request. It is taken, so that a sign-in counts once.
  const signIn = mayRequireSignIn(authorizationRequest) ? namedPendingRequest(request, session) : undefined
  const isForThisRequest = signIn !== undefined && (await pending.take(signIn))
  const age = authorizationRequest.maxAge === undefined ? undefined : authenticationAge(allowance, now())
  const state = { kind: 'signed_in', isForThisRequest, authenticationAge: age, rememberedScope, declinedScope } as const
  return { kind: 'signed_in', session, userGeneration, authenticatedAt, state, rememberedUntil, generations }
}

/** The client is looked at after sign-in. Until then no address is known that an error could be sent to. */
async function signInFirst(
  authorization: Unread,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions
): Promise<FastifyReply> {
  if (nextStep({ session: { kind: 'none' }, authorization }) === 'sign_in')
    return redirectToPage('/login', undefined, request, reply, options)
  if (authorization.reason === 'app_not_published') options.refusals.authorizationRefused(request, authorization)
  return showErrorPage(authorization.reason, request, reply, options)
}

/** Responds with a page, never with a redirect: the redirect URI is not known to belong to the app. */
async function refuseClient(
  refusal: ClientRefusal,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions
): Promise<FastifyReply> {
  await recordRefusal(refusal.reason, request, options)
  request.log.info({ event: 'client_document_refused', ...refusal }, 'client document refused')
  const { detail, retryAfterSeconds } = refusal
  const reason = pageOfRefusal(refusal)
  options.refusals.authorizationRefused(request, { reason, detail })
  const isLater = reason === 'client_too_many' || reason === 'client_unreachable'
  const retryUrl = isLater ? stepUrl(options.issuer, '/oauth/authorize', clientQuery(request)) : undefined
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  const status = reason === 'client_too_many' ? 429 : 400
  return sendErrorPage(request, reply, { status, reason, retryUrl, sent: { ...sentByApp(request), detail } })
}

async function redirectToPage(
  path: '/login' | '/consent',
  owner: { userId: string; sessionHash: string } | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions
): Promise<FastifyReply> {
  const { issuer, pending } = options
  const query = clientQuery(request)
  const again = reasonForReturn(request)
  // A page has set our cookie and sent the browser here, and the browser did not send it.
  if (!request.browserIsKnown && again !== undefined) {
    options.refusals.authorizationRefused(request, { reason: 'no_cookie' })
    return showErrorPage('no_cookie', request, reply, options, stepUrl(issuer, '/oauth/authorize', query))
  }
  const notice = again === 'interrupted' ? again : undefined
  const resume = owner && (await addPendingRequest(request.browserId, query, owner, pending)).id
  return reply.redirect(stepUrl(issuer, path, query, { resume, again: notice }), 303)
}

function refuseOnPage(
  reason: ErrorPageReason,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions
): Promise<FastifyReply> {
  options.refusals.authorizationRefused(request, { reason })
  return showErrorPage(reason, request, reply, options)
}

async function showErrorPage(
  reason: ErrorPageReason,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AuthorizeRouteOptions,
  retryUrl?: string
): Promise<FastifyReply> {
  await recordRefusal(reason, request, options)
  const sent = sentByApp(request)
  const app = await findHomePage(sent.clientId, options)
  return sendErrorPage(request, reply, { status: 400, reason, retryUrl, app, sent })
}

async function recordRefusal(reason: string, request: FastifyRequest, { audit }: AuthorizeRouteOptions): Promise<void> {
  const userId = (await request.verifySession())?.userId
  // The client_id as sent: no client needs to have it.
  const named = queryOf(request).get('client_id')
  const clientId = named !== undefined && isClientId(named) ? named : undefined
  audit.record(request, { event: 'authorization_refused', clientId, userId, reason })
}
