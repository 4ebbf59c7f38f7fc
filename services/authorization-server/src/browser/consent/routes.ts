import { type AuthorizationRequest, errorLocation, redirectTarget, type TokenLifetimes } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { allowForms } from '../../http/pages.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import { errorUri } from '../../http/send-oauth-error.js'
import { remembersConsent } from '../../platform/clients/remembers-consent.js'
import { formOf } from '../../platform/request-parts.js'
import type { ConsentStore } from '../../storage/postgres/consents.js'
import type { ScopeStore } from '../../storage/postgres/scopes.js'
import type { PendingRequestStore } from '../../storage/redis/pending-requests.js'
import { checkForm, refuseForeignForm } from '../csrf/check-form.js'
import { createCsrfToken } from '../csrf/csrf-token.js'
import { formActionSources } from '../pending-requests/form-action.js'
import {
  type Again,
  clientQuery,
  type HeldRequest,
  namedRequest,
  sentAgain,
  stepUrl
} from '../pending-requests/pending-request.js'
import { type ValidationDeps, validateRequest } from '../pending-requests/validate-request.js'
import { isRandomId, newRandomId } from '../session/random-id.js'
import type { SignedIn } from '../session/session-plugin.js'
import { type Asked, consentView } from './consent-view.js'
import { type DecideDeps, decideConsent, readDecision } from './decide-consent.js'
import { type RepeatDeps, repeatDecision } from './repeat-decision.js'

export type ConsentRouteOptions = {
  issuer: string
  cookieKeys: readonly string[]
  judge: ValidationDeps
  pending: Pick<PendingRequestStore, 'isHeld'>
  consents: Pick<ConsentStore, 'findScope'>
  scopes: Pick<ScopeStore, 'list'>
  lifetimes: TokenLifetimes
  decide: DecideDeps
  repeat: RepeatDeps
}

type Step = { held: HeldRequest; asked: Asked; user: SignedIn }

/** `/consent`: what is asked, by whom, and the two buttons. */
export const consentRoutes: FastifyPluginAsync<ConsentRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, judge, pending, consents, scopes, lifetimes, decide, repeat } = options

  pages.get('/consent', async (request, reply) => {
    const step = await findStep(request)
    if (step === undefined) return startAgain(request, reply, request.browserIsKnown ? undefined : 'no_cookie')
    const { held, asked, user } = step
    const query = clientQuery(request)
    allowForms(reply, formActionSources(redirectTarget(asked.request.redirectUri)))
    const catalogue = await scopes.list()
    return reply.view('consent.hbs', {
      title: { key: 'consent.title', values: { client: asked.client.name } },
      ...consentView(asked, catalogue, lifetimes, request.language),
      isAskedAgain: sentAgain(request) === 'interrupted',
      username: user.username,
      csrfToken: createCsrfToken(cookieKeys, { browserId: request.browserId, sessionDigest: user.sessionDigest }),
      answerKey: newRandomId(),
      action: stepUrl(issuer, '/consent', query, { resume: held.id }),
      switchAction: stepUrl(issuer, '/logout', query),
      appsUrl: `${issuer}/account/apps`
    })
  })

  pages.post('/consent', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeign(request, reply)
    if (check === 'stale') return startAgain(request, reply, 'interrupted')
    const given = formOf(request).get('answer_key')
    // Without it the decision holds all the same; only a second sending cannot be answered again.
    const answerKey = isRandomId(given) ? given : newRandomId()
    const step = await findStep(request)
    if (step === undefined) return repeatOrStartAgain(answerKey, request, reply)
    const decision = readDecision(formOf(request), step.asked)
    if (decision === undefined) return startAgain(request, reply, 'interrupted')
    const { held, asked, user } = step
    const outcome = await decideConsent(decision, { ...asked, held, user, answerKey }, decide, request)
    switch (outcome.kind) {
      case 'allowed':
        return reply.redirect(outcome.location, 303)
      case 'denied':
        return redirectDenied(asked.request, reply)
      case 'decided_before':
        // Another sending of this form was a moment faster.
        return repeatOrStartAgain(answerKey, request, reply)
    }
  })

  async function repeatOrStartAgain(
    answerKey: string,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const held = namedRequest(request)
    const decision = formOf(request).get('decision')
    if (held === undefined || (decision !== 'allow' && decision !== 'deny')) {
      return startAgain(request, reply, 'interrupted')
    }
    const outcome = await repeatDecision({ held, decision, answerKey }, repeat)
    // Judged by what the address says: after a decision nothing is held any more.
    const judged = await validateRequest(clientQuery(request), judge)
    if (outcome.kind === 'decided_before' || judged.kind !== 'accepted') {
      return startAgain(request, reply, 'interrupted')
    }
    const concerned = { clientId: judged.client.clientId, userId: request.signedIn?.userId }
    decide.issue.audit.record(request, { event: 'consent_answer_repeated', ...concerned, reason: outcome.kind })
    return outcome.kind === 'allowed' ? reply.redirect(outcome.location, 303) : redirectDenied(judged.request, reply)
  }

  /** What this page needs: a request that is held for this user, browser and session, and still good. */
  async function findStep(request: FastifyRequest): Promise<Step | undefined> {
    const held = namedRequest(request)
    const user = request.signedIn
    if (held === undefined || user === undefined || !(await pending.isHeld(held))) return undefined
    const judged = await validateRequest(clientQuery(request), judge)
    if (judged.kind !== 'accepted') return undefined
    const remembers = remembersConsent(judged.client)
    const rememberedScope = remembers ? await consents.findScope(user.userId, judged.client.clientId) : []
    return { held, asked: { ...judged, rememberedScope }, user }
  }

  function redirectDenied(asked: AuthorizationRequest, reply: FastifyReply): FastifyReply {
    const failure = { ...DENIED, errorUri: errorUri(issuer, DENIED.error) }
    return reply.redirect(errorLocation({ ...asked, issuer }, failure), 303)
  }

  /** `/oauth/authorize` decides what is to be done: sign in, ask anew, or say what is wrong. */
  function startAgain(request: FastifyRequest, reply: FastifyReply, again: Again | undefined): FastifyReply {
    const query = clientQuery(request)
    if (query === '') return sendErrorPage(request, reply, { status: 400, reason: 'no_request' })
    return reply.redirect(stepUrl(issuer, '/oauth/authorize', query, { again }), 303)
  }

  function refuseForeign(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const query = clientQuery(request)
    const retryUrl = query === '' ? undefined : stepUrl(issuer, '/oauth/authorize', query)
    return refuseForeignForm(request, reply, { issuer, audit: decide.issue.audit, retryUrl })
  }
}

const DENIED = { error: 'access_denied', description: 'The user did not allow access.' } as const
