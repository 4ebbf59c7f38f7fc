import { isClientId } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { sendErrorPage } from '../../http/send-error-page.js'
import { type ClientRefusalStore, MOST_REFUSALS } from './client-refusal-store.js'
import { refusalView } from './refusal-view.js'

/**
 * Apps that users registered, or clients that operators registered.
 * @property path of their pages, below `/account/developer`
 * @property findName undefined if there is no such app, or the user is not one of its owners
 */
export type OwnedApps = {
  path: 'apps' | 'clients'
  findName: (userId: string, clientId: string) => Promise<string | undefined>
}

/** `GET /account/developer/apps/{id}/refusals`, and of clients: the last refused requests, for owners. */
export const refusalRoutes: FastifyPluginAsync<{
  issuer: string
  ownedApps: readonly OwnedApps[]
  refusals: Pick<ClientRefusalStore, 'list'>
}> = async (pages, { issuer, ownedApps, refusals }) => {
  for (const { path, findName } of ownedApps) {
    pages.get<{ Params: { id: string } }>(`/account/developer/${path}/:id/refusals`, async (request, reply) => {
      const user = request.signedIn
      const { id: clientId } = request.params
      if (user === undefined) return reply.redirect(`${issuer}/login?page=developer`, 303)
      const name = isClientId(clientId) ? await findName(user.userId, clientId) : undefined
      // The same response for another user's app and for an unknown app.
      if (name === undefined) return sendErrorPage(request, reply, { status: 404, reason: 'not_found' })
      const found = await refusals.list(clientId, MOST_REFUSALS)
      return reply.view('account-developer-refusals.hbs', {
        title: { key: 'refusals.title', values: { name } },
        account: accountNavigation(issuer, 'developer'),
        appUrl: `${issuer}/account/developer/${path}/${encodeURIComponent(clientId)}`,
        refusals: found.map((refusal) => refusalView(refusal, issuer))
      })
    })
  }
}
