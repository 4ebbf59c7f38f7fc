import {
  type AuthorizationRequest,
  errorLocation,
  remembersConsent,
  type TokenLifetimes,
  withoutParameters
} from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { omitFormAction } from '../../http/security-headers.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import { errorUri } from '../../http/send-oauth-error.js'
import type { AccessEnds } from '../../platform/access-ends.js'
import { initialsOf } from '../../platform/clients/app-badge.js'
import { formOf } from '../../platform/request-parts.js'
import type { Selections } from '../../platform/selections.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { CodeStore } from '../../storage/redis/codes.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { checkForm, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import {
  type Again,
  clientQuery,
  namedPendingRequest,
  type PendingAuthorizationRequest,
  reasonForReturn,
  sentRequest,
  stepUrl
} from '../pending-requests/pending-request.js'
import { requireNewSignIn } from '../pending-requests/request-references.js'
import { type ValidationDeps, validateRequest, withoutScope } from '../pending-requests/validate-request.js'
import { isRandomId, newRandomId } from '../session/random-id.js'
import type { SignedIn } from '../session/session-plugin.js'
import { nextStep, type SessionState, stateOfPage } from '../steps/next-step.js'
import { type ConsentQuestion, consentView } from './consent-view.js'
import { type DecideDeps, decideConsent, readDecision } from './decide-consent.js'
import { leaveForChoice } from './leave-for-choice.js'
import { questionHash } from './question-hash.js'
import { repeatDecision } from './repeat-decision.js'

export type ConsentRouteOptions = ValidationDeps &
  DecideDeps & {
    cookieKeys: readonly string[]
    pending: Pick<PendingRequestStore, 'exists' | 'findDecision'>
    consents: Pick<ConsentStore, 'findScope'>
    codes: Pick<CodeStore, 'findEncryptedRedirect'>
    lifetimes: TokenLifetimes
    /** Undefined: the page does not ask when the access ends. */
    accessEnds: AccessEnds | undefined
    /** Undefined: users choose nothing at APIs. */
    selections: Selections | undefined
  }

type PendingConsent = { pending: PendingAuthorizationRequest; question: ConsentQuestion; user: SignedIn }

/** @property missing what the form lacks with which the user pressed Allow */
type ShownConsent = PendingConsent & { missing?: 'scope' | 'end' }

/** `/consent`: shows what the client requests, and carries out Allow or Deny. */
export const consentRoutes: FastifyPluginAsync<ConsentRouteOptions> = async (pages, options) => {
  pages.get('/consent', async (request, reply) => {
    const consent = await findPendingConsent(request, options)
    if (consent !== undefined) return showConsent(consent, request, reply, options)
    request.wayBack = reasonOfReturn(request)
    return startAgain(request, reply, options, request.browserIsKnown ? undefined : 'no_cookie')
  })

  pages.post('/consent', async (request, reply) => {
    const check = checkForm(request, options)
    if (check === 'foreign') return refuseForeign(request, reply, options)
    if (check === 'stale') return startAgain(request, reply, options, 'interrupted')
    return decide(request, reply, options)
  })
}

/** Why there is no pending consent. `/oauth/authorize` records what is wrong with the request itself. */
function reasonOfReturn(request: FastifyRequest): FastifyRequest['wayBack'] {
  if (!request.browserIsKnown) return 'no_cookie'
  if (request.signedIn !== undefined) return 'not_pending'
  return request.sessionHash === undefined ? 'not_signed_in' : 'unknown_session'
}

/** What the page needs, if it is the next step of this request and session. */
async function findPendingConsent(
  request: FastifyRequest,
  options: ConsentRouteOptions
): Promise<PendingConsent | undefined> {
  const user = request.signedIn
  const validated = await validateRequest(sentRequest(request), options, request)
  const named = namedPendingRequest(request, user)
  if (user === undefined || named === undefined || validated.kind !== 'accepted') return undefined
  const isPending = await options.pending.exists(named)
  const session: SessionState = isPending ? { kind: 'decision_pending' } : stateOfPage(user)
  if (nextStep({ session, authorization: validated }) !== 'ask_consent') return undefined
  const { client, request: authorizationRequest } = validated
  const remembered = remembersConsent(client)
    ? await options.consents.findScope({ ...authorizationRequest, userId: user.userId })
    : []
  const rememberedScope = withoutScope(remembered, validated.selectingScope)
  const endValues = options.accessEnds?.valuesFor(client) ?? []
  const chosen = validated.selectingScope === undefined ? undefined : await options.selections?.find(named)
  return { pending: named, question: { ...validated, rememberedScope, endValues, chosen }, user }
}

async function showConsent(
  { pending, question, user, missing }: ShownConsent,
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, cookieKeys, scopes, resourceServers, lifetimes, accessEnds }: ConsentRouteOptions
): Promise<FastifyReply> {
  const query = clientQuery(request)
  omitFormAction(reply)
  const [catalogue, apis] = await Promise.all([scopes.list(), resourceServers.listApis()])
  const view = consentView(question, { catalogue, apis, issuer }, lifetimes, request.language)
  const sent = missing ? formOf(request) : question.chosen?.draft
  return reply.view('consent.hbs', {
    ...view,
    optional: view.optional.map((scope) => ({ ...scope, isTicked: sent?.get(`scope.${scope.name}`) === 'on' })),
    ends: accessEnds?.ask(question.client, request.language, sent),
    isAskedAgain: reasonForReturn(request) === 'interrupted' && missing === undefined,
    isNothingChosen: missing === 'scope',
    isEndMissing: missing === 'end',
    username: user.username,
    accountInitial: initialsOf(user.username),
    csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionHash: user.sessionHash }),
    answerKey: newRandomId(),
    question: questionHash(question),
    action: stepUrl(issuer, '/consent', query, { resume: pending.id }),
    switchAction: stepUrl(issuer, '/logout', withNewSignIn(query, question)),
    appsUrl: `${issuer}/account/apps`
  })
}

/** Without `prompt=login`, a provider that is the only way to sign in would sign the same user in again at once. */
function withNewSignIn(query: string, { request: { prompt }, referred }: ConsentQuestion): string {
  if (referred !== undefined) return requireNewSignIn(query)
  const wanted = [...prompt.filter((value) => value !== 'login'), 'login']
  return `${withoutParameters(query, ['prompt'])}&prompt=${encodeURIComponent(wanted.join(' '))}`
}

async function decide(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ConsentRouteOptions
): Promise<FastifyReply> {
  const sentKey = formOf(request).get('answer_key')
  // Without the field the decision is still valid; only a second Allow cannot get the same redirect.
  const answerKey = isRandomId(sentKey) ? sentKey : newRandomId()
  const consent = await findPendingConsent(request, options)
  if (consent === undefined) return repeatOrStartAgain(answerKey, request, reply, options)
  const { pending, question, user } = consent
  const decision = readDecision(formOf(request), question, options.accessEnds)
  // The user has not seen what the request now asks for.
  const isOutdated = formOf(request).get('question') !== questionHash(question)
  if (decision === undefined || isOutdated) {
    request.wayBack = decision === undefined ? 'no_decision' : 'question_changed'
    return startAgain(request, reply, options, 'interrupted')
  }
  if (decision.kind === 'nothing_chosen' || decision.kind === 'no_end_chosen') {
    const missing = decision.kind === 'nothing_chosen' ? 'scope' : 'end'
    return showConsent({ ...consent, missing }, request, reply.code(422), options)
  }
  if (decision.kind === 'no_choice') return leaveForChoice(consent, request, reply, options)
  const outcome = await decideConsent(decision, { ...question, pending, user, answerKey }, options, request)
  switch (outcome.kind) {
    case 'allowed':
      return reply.redirect(outcome.location, 303)
    case 'denied':
      return redirectDenied(question.request, reply, options)
    case 'too_many_new_clients': {
      const { clientId } = question.client
      options.audit.record(request, {
        event: 'authorization_refused',
        clientId,
        userId: user.userId,
        reason: outcome.kind
      })
      reply.header('retry-after', String(outcome.retryAfterSeconds))
      return sendErrorPage(request, reply, { status: 429, reason: 'too_many_new_clients' })
    }
    case 'used_elsewhere':
      request.wayBack = 'decided_before'
      return startAgain(request, reply, options, 'interrupted')
    case 'decided_before':
      // The same form was sent twice, and the other request came first.
      return repeatOrStartAgain(answerKey, request, reply, options)
  }
}

async function repeatOrStartAgain(
  answerKey: string,
  request: FastifyRequest,
  reply: FastifyReply,
  options: ConsentRouteOptions
): Promise<FastifyReply> {
  const pending = namedPendingRequest(request, request.signedIn)
  const decision = formOf(request).get('decision')
  if (pending === undefined || (decision !== 'allow' && decision !== 'deny')) {
    request.wayBack = pending === undefined ? reasonOfReturn(request) : 'no_decision'
    return startAgain(request, reply, options, 'interrupted')
  }
  const outcome = await repeatDecision({ pending, decision, answerKey }, options)
  const validated = await validateRequest(sentRequest(request), options, request, true)
  if (outcome.kind === 'decided_before' || validated.kind !== 'accepted') {
    request.wayBack = outcome.kind === 'decided_before' ? 'decided_before' : 'not_pending'
    return startAgain(request, reply, options, 'interrupted')
  }
  const subject = { clientId: validated.client.clientId, userId: request.signedIn?.userId }
  options.audit.record(request, { event: 'consent_decision_repeated', ...subject, reason: outcome.kind })
  return outcome.kind === 'allowed'
    ? reply.redirect(outcome.location, 303)
    : redirectDenied(validated.request, reply, options)
}

function redirectDenied(
  authorizationRequest: AuthorizationRequest,
  reply: FastifyReply,
  { issuer }: ConsentRouteOptions
): FastifyReply {
  const failure = { ...DENIED, errorUri: errorUri(issuer, DENIED.error) }
  return reply.redirect(errorLocation({ ...authorizationRequest, issuer }, failure), 303)
}

/** Redirects back to `/oauth/authorize`, which carries out the next step or reports the error. */
function startAgain(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer }: ConsentRouteOptions,
  again: Again | undefined
): FastifyReply {
  const query = clientQuery(request)
  if (query === '') return sendErrorPage(request, reply, { status: 400, reason: 'no_request' })
  return reply.redirect(stepUrl(issuer, '/oauth/authorize', query, { again }), 303)
}

function refuseForeign(
  request: FastifyRequest,
  reply: FastifyReply,
  { issuer, audit }: ConsentRouteOptions
): FastifyReply {
  const query = clientQuery(request)
  const retryUrl = query === '' ? undefined : stepUrl(issuer, '/oauth/authorize', query)
  return refuseForeignForm(request, reply, { issuer, audit, retryUrl })
}

const DENIED = { error: 'access_denied', description: 'The user did not allow access.' } as const
