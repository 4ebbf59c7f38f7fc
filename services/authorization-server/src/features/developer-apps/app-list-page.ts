import type { FastifyPluginAsync } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { initialsOf } from '../../platform/clients/app-badge.js'
import type { Message } from '../../platform/i18n/language.js'
import { queryOf } from '../../platform/request-parts.js'
import type { UserCount } from './app-count-store.js'
import { appStateView } from './app-state-view.js'
import { logoUrlOf } from './app-view.js'
import { appUrl, confirmUrl, csrfTokenFor, type DeveloperPageOptions } from './developer-page.js'
import { listOwnApps } from './own-apps.js'
import { listedClients } from './owned-clients/owned-client-page.js'
import type { OwnedClientStore } from './owned-clients/owned-client-store.js'

const DONE: ReadonlyMap<unknown, string> = new Map([
  ['deleted', 'developer.done_deleted'],
  ['left', 'developer.done_left'],
  ['accepted', 'developer.done_accepted']
])

type AppListOptions = DeveloperPageOptions & { ownedClients: Pick<OwnedClientStore, 'list'> }

/** `/account/developer`: the apps of the user, clients of operators that the user owns, and invitations to become an owner. */
export const appListRoute: FastifyPluginAsync<AppListOptions> = async (pages, options) => {
  const { issuer, cookieKeys, mode } = options

  pages.get('/account/developer', async (request, reply) => {
    const user = request.signedIn
    if (user === undefined) return reply.redirect(confirmUrl(issuer, 'developer'), 303)
    const [{ apps, invitations }, clients] = await Promise.all([
      listOwnApps(user, options),
      options.ownedClients.list(user.userId)
    ])
    return reply.view('account-developer.hbs', {
      title: { key: 'developer.title' },
      account: accountNavigation(issuer, 'developer'),
      done: DONE.get(queryOf(request).get('done')) ?? '',
      apps: apps.map((app) => {
        const { state, tone } = appStateView(app, mode)
        const logoUrl = logoUrlOf({ branding: { logo: app.logo } }, issuer)
        return {
          name: app.name,
          initials: initialsOf(app.name),
          logoUrl,
          url: appUrl(issuer, app.clientId),
          state,
          tone,
          users: usersOf(app.users)
        }
      }),
      clients: listedClients(clients, issuer),
      invitations,
      invitationsUrl: `${issuer}/account/developer/invitations`,
      newUrl: `${issuer}/account/developer/new`,
      csrfToken: csrfTokenFor(user, request, cookieKeys)
    })
  })
}

function usersOf({ count, isAtLeast }: UserCount): Message {
  return { key: isAtLeast ? 'developer.listed_users_more' : 'developer.listed_users', values: { count } }
}
