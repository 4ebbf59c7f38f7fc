import { isClientIdentifier } from '@valetkey/oauth-protocol'
import type { FastifyPluginAsync } from 'fastify'
import { countChanges } from '../../browser/account/count-changes.js'
import { appFormRoutes } from './app-form-routes.js'
import { appListRoute } from './app-list-page.js'
import { peopleRoutes } from './app-people-routes.js'
import { appRoutes } from './app-routes.js'
import { secretRoutes } from './app-secret-routes.js'
import { type DeveloperPageOptions, refuse } from './developer-page.js'
import type { OwnedClientStore } from './owned-clients/owned-client-store.js'

/** `/account/developer`: users register apps and look after them. */
export const developerRoutes: FastifyPluginAsync<DeveloperPageOptions & { ownedClients: OwnedClientStore }> = async (
  pages,
  options
) => {
  // The id is checked before a redirect to sign-in has it: line breaks are refused in headers, and `&` would add a parameter.
  pages.addHook<{ Params: { id?: string } }>('preHandler', async (request, reply) => {
    const { id } = request.params
    if (id !== undefined && !isClientIdentifier(id)) return refuse({ kind: 'unknown_app' }, request, reply, options)
  })
  countChanges(pages, options)
  await pages.register(appListRoute, options)
  await pages.register(appFormRoutes, options)
  await pages.register(appRoutes, options)
  await pages.register(secretRoutes, options)
  await pages.register(peopleRoutes, options)
}
