import type { Feature } from '../../feature.js'
import { appRoutes } from './app-admin-routes.js'
import { addAppCommands } from './app-commands.js'
import { createAppDecisionStore } from './app-decision-store.js'
import { APP_EVENTS } from './audit-events.js'
import { createDeveloperAppStore } from './developer-app-store.js'
import { developerRoutes } from './developer-routes.js'
import { createClientOwnerStore } from './owned-clients/client-owner-store.js'
import { showDeveloperTab } from './owned-clients/developer-tab.js'
import { ownedClientListRoute } from './owned-clients/owned-client-list-route.js'
import { ownedClientRoutes } from './owned-clients/owned-client-routes.js'
import { clientOwnerRoutes } from './owned-clients/owner-admin-routes.js'
import { ownerOptions } from './owned-clients/owner-options.js'
import { createWaitingApps, watchApps } from './waiting-apps.js'
import { wireDeveloperPages, wireOwnedClientPages } from './wire-developer-apps.js'

/** Apps that users register, and the decisions of operators about them (`DEVELOPER_APPS`). */
export const developerApps: Feature = {
  auditEvents: APP_EVENTS,
  start(parts) {
    const { config, database, watched } = parts
    const { clientLogos, consents, registered } = parts.stores
    const apps = createDeveloperAppStore(database)
    const decisions = createAppDecisionStore(database)
    const waitingApps = createWaitingApps(apps)
    watchApps(watched.metrics, waitingApps)
    const pages = wireDeveloperPages(parts)
    const owned = wireOwnedClientPages(parts)
    return {
      accountPages(account) {
        if (pages !== undefined) account.register(developerRoutes, { ...pages, ownedClients: owned.ownedClients })
        else {
          showDeveloperTab(account, owned)
          account.register(ownedClientListRoute, owned)
        }
        account.register(ownedClientRoutes, owned)
      },
      adminRoutes(admin) {
        admin.register(appRoutes, { ...registered, consents, clientLogos, apps, decisions })
        admin.register(clientOwnerRoutes, {
          ...registered,
          users: parts.stores.users,
          owners: createClientOwnerStore(database)
        })
      },
      countWaitingApps: config.developerApps === 'off' ? undefined : apps.countWaiting,
      periodicTasks: [waitingApps.count]
    }
  },
  clientExtension: ownerOptions,
  addCommands: ({ program }, context) => addAppCommands(program, context),
  commandExamples: {
    'apps list': 'apps list --waiting',
    'apps show': 'apps show vFGEDyNdC3tnqTRj0OKUxY',
    'apps approve': 'apps approve vFGEDyNdC3tnqTRj0OKUxY --revision 3',
    'apps refuse': 'apps refuse vFGEDyNdC3tnqTRj0OKUxY --reason "The privacy policy does not name your company."',
    'apps disable': 'apps disable vFGEDyNdC3tnqTRj0OKUxY'
  }
}
