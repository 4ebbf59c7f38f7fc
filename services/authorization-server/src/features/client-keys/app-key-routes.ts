import { isClientIdentifier } from '@valetkey/oauth-protocol'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { countChanges } from '../../browser/account/count-changes.js'
import { MOST_REGISTERED_KEYS } from '../../platform/clients/client-keys.js'
import { formOf, queryOf } from '../../platform/request-parts.js'
import { type AppRequest, confirmUrl, refuse, userOfForm } from '../developer-apps/developer-page.js'
import { type AppKeyPageOptions, keysPage, showAppKeys } from './app-key-page.js'
import { appMethodRoutes } from './app-method-routes.js'
import { addAppKeys, removeAppKey } from './change-app-keys.js'
import { readTypedKeys } from './read-typed-keys.js'

const PATH = '/account/developer/apps/:id/keys'

/** `/account/developer/apps/ID/keys`: owners of an app change its keys and its method of authentication. */
export const appKeyRoutes: FastifyPluginAsync<AppKeyPageOptions> = async (pages, options) => {
  const { issuer } = options
  // The id is checked before a redirect to sign-in has it.
  pages.addHook<{ Params: { id?: string } }>('preHandler', async (request, reply) => {
    if (!isClientIdentifier(request.params.id ?? '')) return refuse({ kind: 'unknown_app' }, request, reply, options)
  })
  countChanges(pages, options)

  pages.get(PATH, async (request: AppRequest, reply) => {
    const user = request.signedIn
    const { id: clientId } = request.params
    if (user === undefined) return reply.redirect(confirmUrl(issuer, keysPage(clientId)), 303)
    return showAppKeys({ user, clientId, done: queryOf(request).get('done') }, request, reply, options)
  })
  acceptKeys(pages, options)
  removeKeys(pages, options)
  await pages.register(appMethodRoutes, options)
}

function acceptKeys(pages: FastifyInstance, options: AppKeyPageOptions): void {
  pages.post(PATH, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, keysPage(clientId), options, 'must_be_fresh')
    if (user === undefined) return reply
    const read = await readTypedKeys(formOf(request).getText('keys') ?? '')
    if (read.kind === 'refused') return showAppKeys({ user, clientId, problem: read.problem }, request, reply, options)
    const outcome = await addAppKeys({ clientId, given: read.keys }, { user, request }, options)
    const refused = (key: string, values = {}) => {
      const problem = { message: { key, values }, typed: { keys: read.typed } }
      return showAppKeys({ user, clientId, problem }, request, reply, options)
    }
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'stale':
        return refused('keys.stale')
      case 'against_profile':
        return refused('keys.against_profile')
      case 'kid_taken':
        return refused('keys.kid_taken', { kid: outcome.kid })
      case 'too_many':
        return refused('keys.too_many', { most: MOST_REGISTERED_KEYS })
      case 'done':
        return reply.redirect(`${options.issuer}/account/${keysPage(clientId)}?done=added`, 303)
    }
  })
}

function removeKeys(pages: FastifyInstance, options: AppKeyPageOptions): void {
  pages.post(`${PATH}/remove`, { config: { isEnding: true } }, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, keysPage(clientId), options, 'must_be_fresh')
    if (user === undefined) return reply
    const kid = formOf(request).get('kid') ?? ''
    const outcome = await removeAppKey({ clientId, kid }, { user, request }, options)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'only_key':
        return showAppKeys({ user, clientId, problem: { message: { key: 'keys.only_key' } } }, request, reply, options)
      case 'done':
        return reply.redirect(`${options.issuer}/account/${keysPage(clientId)}?done=removed`, 303)
    }
  })
}
