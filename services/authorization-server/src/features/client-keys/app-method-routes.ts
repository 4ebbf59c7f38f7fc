import { objectionToKeySetUrl } from '@valetkey/oauth-protocol/signed'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import type { SignedIn } from '../../browser/session/session-plugin.js'
import { formOf } from '../../platform/request-parts.js'
import { showSecret } from '../developer-apps/app-secret-routes.js'
import { type AppRequest, refuse, userOfForm } from '../developer-apps/developer-page.js'
import type { KeySource } from './app-key-change-store.js'
import { type AppKeyPageOptions, type KeyProblem, keysPage, showAppKeys } from './app-key-page.js'
import { useKeys, useSecret } from './change-app-keys.js'
import { readTypedKeys } from './read-typed-keys.js'

const PATH = '/account/developer/apps/:id/keys'

/** The forms that change how an app authenticates. An app has one method: what it used before ends at once. */
export const appMethodRoutes: FastifyPluginAsync<AppKeyPageOptions> = async (pages, options) => {
  pages.post(`${PATH}/register`, async (request: AppRequest, reply) => {
    const user = userOfMethodForm(request, reply)
    if (user === undefined) return reply
    const read = await readTypedKeys(formOf(request).getText('keys') ?? '')
    if (read.kind === 'refused') return show(user, read.problem, request, reply)
    const source = { keys: read.keys, jwksUri: undefined }
    return change({ user, source, typed: { keys: read.typed }, done: 'keys' }, request, reply)
  })

  pages.post(`${PATH}/address`, async (request: AppRequest, reply) => {
    const user = userOfMethodForm(request, reply)
    if (user === undefined) return reply
    const jwksUri = (formOf(request).get('jwks_uri') ?? '').trim()
    const objection = objectionToKeySetUrl(jwksUri)
    if (objection !== undefined) {
      const message = { key: 'keys.unusable_address' }
      const problem = { message, objection: `jwks_uri ${objection}`, typed: { jwksUri }, field: 'jwks_uri' as const }
      return show(user, problem, request, reply)
    }
    return change({ user, source: { keys: [], jwksUri }, typed: { jwksUri }, done: 'address' }, request, reply)
  })

  pages.post(`${PATH}/secret`, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfMethodForm(request, reply)
    if (user === undefined) return reply
    const app = await options.apps.findOwn(user.userId, clientId)
    if (app === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
    const outcome = await useSecret({ clientId, known: knownOf(request) }, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'stale':
        return show(user, { message: { key: 'keys.stale' } }, request, reply)
      case 'against_profile':
        return show(user, { message: { key: 'keys.against_profile' } }, request, reply)
      case 'created':
        return showSecret({ clientId, clientSecret: outcome.clientSecret, name: app.settings.name }, reply, options)
    }
  })

  function userOfMethodForm(request: AppRequest, reply: FastifyReply): SignedIn | undefined {
    return userOfForm(request, reply, keysPage(request.params.id), options, 'must_be_fresh')
  }

  function show(user: SignedIn, problem: KeyProblem, request: AppRequest, reply: FastifyReply): Promise<FastifyReply> {
    return showAppKeys({ user, clientId: request.params.id, problem }, request, reply, options)
  }

  async function change(
    { user, source, typed, done }: { user: SignedIn; source: KeySource; typed: KeyProblem['typed']; done: string },
    request: AppRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const { id: clientId } = request.params
    const outcome = await useKeys({ clientId, known: knownOf(request), source }, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'stale':
        return show(user, { message: { key: 'keys.stale' }, ...(typed && { typed }) }, request, reply)
      case 'against_profile':
        return show(user, { message: { key: 'keys.against_profile' }, ...(typed && { typed }) }, request, reply)
      case 'done':
        return reply.redirect(`${options.issuer}/account/${keysPage(clientId)}?done=${done}`, 303)
    }
  }
}

/** What the page of the form showed. */
function knownOf(request: AppRequest): string {
  return formOf(request).get('known') ?? ''
}
