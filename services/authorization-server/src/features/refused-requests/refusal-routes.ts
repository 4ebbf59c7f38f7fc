import { isClientId } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import type { DeveloperAppStore } from '../developer-apps/developer-app-store.js'
import { type ClientRefusalStore, MOST_REFUSALS } from './client-refusal-store.js'
import { refusalView } from './refusal-view.js'

/** `GET /account/developer/apps/{id}/refusals`: the last refused requests of an app, for its owners. */
export const refusalRoutes: FastifyPluginAsync<{
  issuer: string
  apps: Pick<DeveloperAppStore, 'findOwn'>
  refusals: Pick<ClientRefusalStore, 'list'>
}> = async (pages, { issuer, apps, refusals }) => {
  pages.get<{ Params: { id: string } }>('/account/developer/apps/:id/refusals', async (request, reply) => {
    const user = request.signedIn
    const { id: clientId } = request.params
    if (user === undefined) return reply.redirect(`${issuer}/login?page=developer`, 303)
    const app = isClientId(clientId) ? await apps.findOwn(user.userId, clientId) : undefined
    // The same response for another user's app and for an unknown app.
    if (app === undefined) return sendErrorPage(request, reply, { status: 404, reason: 'not_found' })
    const found = await refusals.list(clientId, MOST_REFUSALS)
    return reply.view('account-developer-refusals.hbs', {
      title: { key: 'refusals.title', values: { name: app.settings.name } },
      account: accountNavigation(issuer, 'developer'),
      appUrl: `${issuer}/account/developer/apps/${clientId}`,
      refusals: found.map((refusal) => refusalView(refusal, issuer))
    })
  })
}
