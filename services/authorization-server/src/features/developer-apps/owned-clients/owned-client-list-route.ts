import type { FastifyPluginAsync } from 'fastify'
import { accountNavigation } from '../../../browser/account/account-navigation.js'
import { confirmUrl, csrfTokenFor, refuse } from '../developer-page.js'
import { listedClients, type OwnedClientPageOptions } from './owned-client-page.js'

/** `/account/developer` where users cannot register apps: only for owners of clients, and not found for other users. */
export const ownedClientListRoute: FastifyPluginAsync<OwnedClientPageOptions> = async (pages, options) => {
  const { issuer, cookieKeys } = options

  pages.get('/account/developer', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(confirmUrl(issuer, 'developer'), 303)
    const clients = await options.ownedClients.list(user.userId)
    if (clients.length === 0) return refuse({ kind: 'unknown_app' }, request, reply, options)
    return reply.view('account-developer.hbs', {
      title: { key: 'developer.title' },
      account: accountNavigation(issuer, 'developer'),
      done: '',
      apps: [],
      clients: listedClients(clients, issuer),
      invitations: [],
      invitationsUrl: '',
      newUrl: '',
      csrfToken: csrfTokenFor(user, request, cookieKeys)
    })
  })
}
