import { errorLocation, redirectTarget, successLocation } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { formOf } from '../http/form.js'
import { checkForm } from '../http/own-form.js'
import { allowForms } from '../http/pages.js'
import { sendErrorPage } from '../http/send-error-page.js'
import { errorUri } from '../http/send-oauth-error.js'
import { formActionSources } from '../requests/form-action.js'
import { clientQuery, findHeldRequest, type HeldRequest, stepUrl } from '../requests/held-request.js'
import { type JudgeDeps, type JudgedRequest, judgeRequest } from '../requests/judge-request.js'
import { formToken } from '../session/form-token.js'
import type { SignedIn } from '../session/session-plugin.js'
import type { PendingRequestStore } from '../storage/pending-requests.js'
import type { ScopeStore } from '../storage/scopes.js'
import { consentView } from './consent-view.js'
import { type DecideDeps, decideConsent, readDecision } from './decide-consent.js'

export type ConsentRouteOptions = {
  issuer: string
  cookieKeys: readonly string[]
  judge: JudgeDeps
  pending: Pick<PendingRequestStore, 'find'>
  scopes: Pick<ScopeStore, 'list'>
  decide: DecideDeps
}

type Accepted = Extract<JudgedRequest, { kind: 'accepted' }>
type Step = { held: HeldRequest; accepted: Accepted; user: SignedIn }

/** `/consent`: what is asked, by whom, and the two buttons. */
export const consentRoutes: FastifyPluginAsync<ConsentRouteOptions> = async (pages, options) => {
  const { issuer, cookieKeys, judge, pending, scopes, decide } = options

  pages.get('/consent', async (request, reply) => {
    const step = await findStep(request)
    if (step === undefined) return startAgain(request, reply)
    const { held, accepted, user } = step
    allowForms(reply, formActionSources(redirectTarget(accepted.request.redirectUri)))
    const catalogue = await scopes.list()
    return reply.view('consent.hbs', {
      title: `Allow ${accepted.client.name}?`,
      ...consentView(accepted.request, accepted.client, catalogue),
      username: user.username,
      csrfToken: formToken(cookieKeys, { browserId: request.browserId, sessionDigest: user.sessionDigest }),
      action: stepUrl(issuer, '/consent', held.query, held.id),
      switchAction: stepUrl(issuer, '/logout', held.query)
    })
  })

  pages.post('/consent', async (request, reply) => {
    const check = checkForm(request, { issuer, cookieKeys })
    if (check === 'foreign') return refuseForeign(request, reply)
    const step = check === 'own' ? await findStep(request) : undefined
    if (step === undefined) return startAgain(request, reply)
    const { held, accepted, user } = step
    const decision = readDecision(formOf(request), accepted)
    if (decision === undefined) return startAgain(request, reply)

    const outcome = await decideConsent(decision, { held, ...accepted, user }, decide, request)
    const target = { ...accepted.request, issuer }
    switch (outcome.kind) {
      case 'code':
        return reply.redirect(successLocation(target, outcome.code), 303)
      case 'denied':
        return reply.redirect(errorLocation(target, { ...DENIED, errorUri: errorUri(issuer, DENIED.error) }), 303)
      case 'decided_before':
        return startAgain(request, reply)
    }
  })

  /** What this page needs: a request held for this browser, good still, and somebody signed in. */
  async function findStep(request: FastifyRequest): Promise<Step | undefined> {
    const held = await findHeldRequest(request, pending)
    if (held === undefined || request.signedIn === undefined) return undefined
    const judged = await judgeRequest(held.query, judge)
    return judged.kind === 'accepted' ? { held, accepted: judged, user: request.signedIn } : undefined
  }

  /** `/oauth/authorize` decides what is to be done: sign in, ask anew, or say what is wrong. */
  function startAgain(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const query = clientQuery(request)
    return reply.redirect(query === '' ? `${issuer}/login` : stepUrl(issuer, '/oauth/authorize', query), 303)
  }

  function refuseForeign(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const query = clientQuery(request)
    return sendErrorPage(request, reply, {
      status: 403,
      title: 'This form could not be accepted',
      message:
        'It did not come from a page that this browser was shown here, or your browser blocks our cookies. Nothing was allowed.',
      advice: 'Start again, and decide on the page that is shown to you then.',
      retryUrl: query === '' ? undefined : stepUrl(issuer, '/oauth/authorize', query)
    })
  }
}

const DENIED = { error: 'access_denied', description: 'The user did not allow access.' } as const
