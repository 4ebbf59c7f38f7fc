import { groupRoutes } from '@valetkey/service-kit'
import type { Feature } from '../../feature.js'
import { actionRoutes } from './action-admin-routes.js'
import { actionOptions, addActionCommand } from './action-command.js'
import { createApiActionStore } from './api-action-store.js'
import { createAppUseStore, deleteExpiredUses, deleteOldReports } from './app-use-store.js'
import { readAppHistory } from './read-app-history.js'
import { useRoutes } from './use-routes.js'

/** What each app did: guards report sums, and the page of connected apps shows them. */
export const activity: Feature = {
  start({ config, database, platform, stores }) {
    const appUses = createAppUseStore(database)
    const { resourceServers } = stores.registry
    const { limiter, usage } = platform
    const deps = { resourceServers, limiter, usage: usage.resourceServers, appUses }
    return {
      internalEndpoints(internal) {
        internal.register(async (scope) => {
          // As the feed: what guards send beside introspection.
          groupRoutes(scope, 'feed')
          scope.register(useRoutes, { ...deps, defaultAudience: config.resourceUrl })
        })
      },
      appHistory: readAppHistory(appUses),
      adminRoutes(admin) {
        admin.register(actionRoutes, { apiActions: createApiActionStore(database) })
      },
      expiryTasks: [() => deleteExpiredUses(database), () => deleteOldReports(database)]
    }
  },
  apiOptions: actionOptions,
  addCommands: ({ resourceServers }, context) => addActionCommand(resourceServers, context),
  commandExamples: {
    'resource-servers actions': 'resource-servers actions vFGEyDNcdC3tnqTRj0OKUx --action list_reports="Listed reports"'
  }
}
