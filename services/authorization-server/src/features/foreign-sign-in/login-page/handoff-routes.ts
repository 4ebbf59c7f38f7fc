import type { FastifyPluginAsync } from 'fastify'
import { redirectToNextStep } from '../../../browser/login/sign-in-request.js'
import { queryOf } from '../../../platform/request-parts.js'
import { beginForeignSignIn } from '../identities/foreign-sign-in.js'
import { findForeignSignInRequest, mustConfirm } from '../identities/foreign-sign-in-request.js'
import { signInPurposeOf } from '../identities/sign-in-purpose.js'
import { type HandoffDeps, receiveAssertion, receiveRefusal } from './receive-assertion.js'

export const HANDOFF_PATH = '/login/handoff'

/** `/login/handoff`: sends the browser to the login page of the operator; `/login/handoff/callback`: receives its assertion. */
export const handoffRoutes: FastifyPluginAsync<HandoffDeps> = async (pages, deps) => {
  const { issuer, settings, now } = deps
  // No HEAD: it would store a request or take one.
  const route = { exposeHeadRoute: false }

  pages.get(HANDOFF_PATH, route, async (request, reply) => {
    const purpose = signInPurposeOf(request, now())
    if (purpose === undefined) return reply.redirect(`${issuer}/login?page=sign-ins`, 303)
    const signInRequest = await findForeignSignInRequest(purpose, request, deps)
    if (signInRequest === undefined) return redirectToNextStep(request, reply, deps)
    const { query, prompt } = signInRequest
    const mustAuthenticate = mustConfirm(signInRequest) || prompt.includes('login')
    const { state } = await beginForeignSignIn(request, { way: 'handoff', query, purpose }, deps)
    return reply.redirect(`${settings.url}?request=${state}${mustAuthenticate ? '&prompt=login' : ''}`, 303)
  })

  pages.get(`${HANDOFF_PATH}/callback`, route, async (request, reply) => {
    // The address contains the assertion until the redirect.
    reply.header('referrer-policy', 'no-referrer')
    const parameters = queryOf(request)
    const [assertion, error] = [parameters.get('assertion'), parameters.get('error')]
    return error === undefined
      ? receiveAssertion(assertion ?? '', request, reply, deps)
      : receiveRefusal({ id: parameters.get('request'), error }, request, reply, deps)
  })
}
