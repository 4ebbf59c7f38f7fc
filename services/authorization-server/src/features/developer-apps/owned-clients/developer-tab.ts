import type { FastifyInstance } from 'fastify'
import type { OwnedClientPageOptions } from './owned-client-page.js'

/** Shows the tab "Developer" only to owners of clients: other users cannot register apps. */
export function showDeveloperTab(
  account: FastifyInstance,
  { issuer, ownedClients }: Pick<OwnedClientPageOptions, 'issuer' | 'ownedClients'>
): void {
  account.addHook('preHandler', async (request, reply) => {
    const user = request.signedIn
    if (user !== undefined && (await ownedClients.hasAny(user.userId)))
      reply.locals = { ...reply.locals, developerPages: `${issuer}/account/developer` }
  })
}
