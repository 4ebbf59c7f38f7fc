import type { FastifyPluginAsync } from 'fastify'
import { countChanges } from '../../../browser/account/count-changes.js'
import { formOf, queryOf } from '../../../platform/request-parts.js'
import { showSecret } from '../app-secret-routes.js'
import { addAppSecret, deleteAppSecret, type SecretDeps } from '../app-secrets.js'
import { knownSecrets } from '../app-view.js'
import { type AppRequest, confirmUrl, refuse, userOfForm } from '../developer-page.js'
import {
  clientPage,
  clientUrl,
  findOwnedClient,
  type OwnedClientPageOptions,
  showOwnedClient
} from './owned-client-page.js'

const PATH = '/account/developer/clients/:id'

/** `/account/developer/clients/ID`: a client that an operator registered, for its owners. They can change its secrets at most. */
export const ownedClientRoutes: FastifyPluginAsync<OwnedClientPageOptions> = async (pages, options) => {
  const { issuer } = options
  const deps = secretDeps(options)
  countChanges(pages, options)

  pages.get(PATH, async (request: AppRequest, reply) => {
    const user = request.signedIn
    const { id: clientId } = request.params
    if (user === undefined) return reply.redirect(confirmUrl(issuer, clientPage(clientId)), 303)
    return showOwnedClient({ user, clientId, done: queryOf(request).get('done') }, request, reply, options)
  })

  pages.post(`${PATH}/secrets`, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, clientPage(clientId), options, 'must_be_fresh')
    if (user === undefined) return reply
    const client = await findOwnedClient(user, clientId, options)
    if (client?.changesSecrets !== true) return refuse({ kind: 'unknown_app' }, request, reply, options)
    const stale = () => showOwnedClient({ user, clientId, problem: 'developer.secret_stale' }, request, reply, options)
    // As for apps: the form was sent before, by a second click or a reload.
    const known = formOf(request).get('known_secrets') ?? ''
    if (known !== knownSecrets(await options.secrets.list(clientId))) return stale()
    const outcome = await addAppSecret(clientId, { user, request }, deps)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'two_are_live':
        return stale()
      case 'without_secrets':
        return reply.redirect(clientUrl(issuer, clientId), 303)
      case 'created': {
        const { clientSecret } = outcome
        const page = clientUrl(issuer, clientId)
        return showSecret({ clientId, clientSecret, name: client.name, page }, reply, options)
      }
    }
  })

  pages.post(`${PATH}/secrets/remove`, { config: { isEnding: true } }, async (request: AppRequest, reply) => {
    const { id: clientId } = request.params
    const user = userOfForm(request, reply, clientPage(clientId), options, 'must_be_fresh')
    if (user === undefined) return reply
    const secretId = formOf(request).get('secret_id') ?? ''
    const outcome = await deleteAppSecret({ clientId, secretId }, { user, request }, deps)
    switch (outcome.kind) {
      case 'unknown_app':
      case 'session_ended':
        return refuse(outcome, request, reply, options)
      case 'only_live_secret':
        return showOwnedClient({ user, clientId, problem: 'developer.last_secret' }, request, reply, options)
      case 'done':
        return reply.redirect(`${clientUrl(issuer, clientId)}?done=secret_removed`, 303)
    }
  })
}

/** What the change of a secret needs. A client whose secrets the owner may not change is as unknown as those of other users. */
function secretDeps({
  ownedClients,
  secrets,
  randomBytes
}: Pick<OwnedClientPageOptions, 'ownedClients' | 'secrets' | 'randomBytes'>): SecretDeps {
  return {
    apps: {
      async findOwn(userId, clientId) {
        const client = await ownedClients.findOwn(userId, clientId)
        return client?.changesSecrets === true ? client : undefined
      }
    },
    secrets,
    secretChanges: ownedClients,
    randomBytes
  }
}
