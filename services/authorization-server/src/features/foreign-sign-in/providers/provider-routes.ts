import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { redirectToNextStep } from '../../../browser/login/sign-in-request.js'
import type { ForeignSignInDeps } from '../foreign-sign-in-deps.js'
import { beginForeignSignIn } from '../identities/foreign-sign-in.js'
import {
  type ForeignSignInRequest,
  findForeignSignInRequest,
  mustConfirm
} from '../identities/foreign-sign-in-request.js'
import { signInPurposeOf } from '../identities/sign-in-purpose.js'
import { type Provider, pathOfProvider } from './provider.js'
import { receiveResponse, showFailure } from './receive-response.js'

export { formPostRoutes } from './form-post-routes.js'

type ProviderRouteOptions = ForeignSignInDeps & { providers: readonly Provider[] }

/** Sign-in with an OpenID provider: `/login/with/<id>` leaves for it, `/login/with/<id>/callback` is its redirect URI. */
export const providerRoutes: FastifyPluginAsync<ProviderRouteOptions> = async (pages, options) => {
  // The address of the callback contains a code: it must not reach another site.
  pages.addHook('onRequest', async (_request, reply) => {
    reply.header('referrer-policy', 'no-referrer')
  })
  // No HEAD: it would store an attempt or take one.
  const route = { exposeHeadRoute: false }

  for (const provider of options.providers) {
    const path = pathOfProvider(provider.settings)
    pages.get(path, route, async (request, reply) => {
      const purpose = signInPurposeOf(request, options.now())
      if (purpose === undefined) return reply.redirect(`${options.issuer}/login?page=sign-ins`, 303)
      const signInRequest = await findForeignSignInRequest(purpose, request, options)
      if (signInRequest === undefined) return redirectToNextStep(request, reply, options)
      return redirectToProvider(provider, signInRequest, request, reply, options)
    })
    pages.get(`${path}/callback`, route, (request, reply) => receiveResponse(provider, request, reply, options))
  }
}

async function redirectToProvider(
  provider: Provider,
  { query, purpose, prompt }: ForeignSignInRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  options: ProviderRouteOptions
): Promise<FastifyReply> {
  const way = provider.settings.id
  const { state, attempt } = await beginForeignSignIn(request, { way, query, purpose }, options)
  const { nonce, verifier } = attempt
  const started = await provider.start({ state, nonce, verifier, prompt, confirms: mustConfirm(attempt) })
  if (started.kind === 'failed') return showFailure(provider, started, attempt, request, reply, options)
  return reply.redirect(started.url, 303)
}
