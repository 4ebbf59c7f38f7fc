import { parseParameters } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { redirectToNextStep } from '../../../browser/login/sign-in-request.js'
import type { ValidationDeps } from '../../../browser/pending-requests/validate-request.js'
import { rawQuery } from '../../../platform/request-parts.js'
import { beginForeignSignIn } from '../identities/foreign-sign-in.js'
import { findForeignSignInRequest, mustConfirm } from '../identities/foreign-sign-in-request.js'
import { signInPurposeOf } from '../identities/sign-in-purpose.js'
import { type HandoffDeps, receiveAssertion, receiveRefusal } from './receive-assertion.js'

/** Undefined if no login page is configured. */
export type HandoffRouteOptions = { handoff: (HandoffDeps & { validation: ValidationDeps }) | undefined }

/** `/login/handoff`: sends the browser to the login page of the operator; `/login/handoff/callback`: receives its assertion. */
export const handoffRoutes: FastifyPluginAsync<HandoffRouteOptions> = async (pages, { handoff }) => {
  if (handoff === undefined) return
  const { issuer, settings, foreign, validation, now } = handoff
  // No HEAD: it would store a request or take one.
  const route = { exposeHeadRoute: false }

  pages.get('/login/handoff', route, async (request, reply) => {
    const purpose = signInPurposeOf(request, now())
    if (purpose === undefined) return reply.redirect(`${issuer}/login?page=sign-ins`, 303)
    const signInRequest = await findForeignSignInRequest(purpose, request, { validation, session: { now } })
    if (signInRequest === undefined) return redirectToNextStep(request, reply, handoff)
    const { query, prompt } = signInRequest
    const mustAuthenticate = mustConfirm(signInRequest) || prompt.includes('login')
    const { state } = await beginForeignSignIn(request, { way: 'handoff', query, purpose }, foreign)
    return reply.redirect(`${settings.url}?request=${state}${mustAuthenticate ? '&prompt=login' : ''}`, 303)
  })

  pages.get('/login/handoff/callback', route, async (request, reply) => {
    // The address contains the assertion until the redirect.
    reply.header('referrer-policy', 'no-referrer')
    const parameters = parseParameters(rawQuery(request))
    const [assertion, error] = [parameters.get('assertion'), parameters.get('error')]
    return error === undefined
      ? receiveAssertion(assertion ?? '', request, reply, handoff)
      : receiveRefusal({ id: parameters.get('request'), error }, request, reply, handoff)
  })
}
