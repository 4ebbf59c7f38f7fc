import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Provider } from '../../../platform/providers/provider.js'
import type { SignInPurpose } from '../../../storage/redis/sign-in-attempts.js'
import { clientQuery } from '../../pending-requests/pending-request.js'
import type { ValidationDeps } from '../../pending-requests/validate-request.js'
import type { SessionOptions } from '../../session/session-plugin.js'
import { beginForeignSignIn } from '../foreign-sign-in.js'
import { purposeOf } from '../purpose.js'
import { findVisit, leave } from '../visit.js'
import { startPath } from '../ways.js'
import { mustConfirm, type ReceiveResponseDeps, receiveResponse, showFailure } from './receive-response.js'

export type ProviderRouteOptions = ReceiveResponseDeps & {
  providers: readonly Provider[]
  validation: ValidationDeps
  session: SessionOptions
}

/** Sign-in with an OpenID provider: `/login/with/<id>` leaves for it, `/login/with/<id>/callback` is its redirect URI. */
export const providerRoutes: FastifyPluginAsync<ProviderRouteOptions> = async (pages, options) => {
  // The address of the callback contains a code: it must not reach another site.
  pages.addHook('onRequest', async (_request, reply) => {
    reply.header('referrer-policy', 'no-referrer')
  })
  // No HEAD: it would store an attempt or take one.
  const route = { exposeHeadRoute: false }

  for (const provider of options.providers) {
    const path = startPath(provider.settings)
    pages.get(path, route, async (request, reply) => {
      const purpose = purposeOf(request, options.now())
      if (purpose === undefined) return reply.redirect(`${options.issuer}/login?page=sign-ins`, 303)
      const departure = await findDeparture(purpose, request, options)
      if (departure === undefined) return leave(request, reply, options)
      return depart(provider, departure, request, reply, options)
    })
    pages.get(`${path}/callback`, route, (request, reply) => receiveResponse(provider, request, reply, options))
  }
}

/** Why the browser leaves for a provider. */
type Departure = {
  /** The client's query; empty without an authorization request. */
  query: string
  purpose: SignInPurpose
  prompt: readonly string[]
}

/** Undefined if signing in is not the next step. */
async function findDeparture(
  purpose: SignInPurpose,
  request: FastifyRequest,
  options: ProviderRouteOptions
): Promise<Departure | undefined> {
  if (purpose.kind === 'link' || purpose.kind === 'invitation') return { query: '', purpose, prompt: [] }
  const visit = await findVisit(request, options)
  if (visit === undefined) return undefined
  const { authorization } = visit
  const query = clientQuery(request)
  const prompt = authorization?.request.prompt ?? []
  return { query, purpose, prompt: prompt.filter((value) => value === 'login' || value === 'select_account') }
}

async function depart(
  provider: Provider,
  { query, purpose, prompt }: Departure,
  request: FastifyRequest,
  reply: FastifyReply,
  options: ProviderRouteOptions
): Promise<FastifyReply> {
  const way = provider.settings.id
  const { state, attempt } = await beginForeignSignIn(request, { way, query, purpose }, options)
  const { nonce, verifier } = attempt
  const started = await provider.start({ state, nonce, verifier, prompt, confirms: mustConfirm(attempt) })
  if (started.kind === 'failed') return showFailure(provider, started, attempt, request, reply, options.receive)
  return reply.redirect(started.url, 303)
}
