import type { Metrics } from '@valetkey/service-kit'
import type { Feature, FeatureParts, FeatureSurfaces } from '../../feature.js'
import { DEFAULT_LANGUAGE, type Language } from '../../platform/i18n/language.js'
import { createDeveloperAppStore } from '../developer-apps/developer-app-store.js'
import { createOwnedClientStore } from '../developer-apps/owned-clients/owned-client-store.js'
import { addClientRefusalCommand } from './client-refusal-command.js'
import { type ClientRefusalStore, createClientRefusalStore, deleteExpiredRefusals } from './client-refusal-store.js'
import { type ClientRefusals, createClientRefusals } from './client-refusals.js'
import { noteRefusedAuthorization } from './note-refused-authorization.js'
import { noteRefusedCalls } from './note-refused-call.js'
import { clientRefusalRoutes } from './refusal-admin-routes.js'
import { type OwnedApps, refusalRoutes } from './refusal-routes.js'

/** The last refused requests of each client, for its developer and for operators. */
export const refusedRequests: Feature = {
  start(parts) {
    const { database, platform, stores, watched } = parts
    const store = createClientRefusalStore(database)
    const refusals = createClientRefusals(store)
    const english = platform.languages.get(DEFAULT_LANGUAGE) as Language
    watchClientRefusals(watched.metrics, refusals)
    return {
      accountPages: accountPages(parts, store),
      adminRoutes(admin) {
        admin.register(clientRefusalRoutes, { clients: stores.registered.clients, refusals: store, english })
      },
      refusalObserver: {
        authorizationRefused: (request, refused) => noteRefusedAuthorization(request, refused, refusals),
        requestRefused: noteRefusedCalls(refusals)
      },
      expiryTasks: [() => deleteExpiredRefusals(database)],
      closeables: [refusals]
    }
  },
  addCommands: ({ clients }, context) => addClientRefusalCommand(clients, context),
  commandExamples: {
    'clients refusals': 'clients refusals vFGEDyNdC3tnqTRj0OKUxY --limit 20'
  }
}

function accountPages(
  { config: { issuer, developerApps }, database }: FeatureParts,
  refusals: ClientRefusalStore
): FeatureSurfaces['accountPages'] {
  const [apps, clients] = [createDeveloperAppStore(database), createOwnedClientStore(database)]
  const ofUsers: OwnedApps = {
    path: 'apps',
    findName: async (userId, clientId) => (await apps.findOwn(userId, clientId))?.settings.name
  }
  const ofOperators: OwnedApps = {
    path: 'clients',
    findName: async (userId, clientId) => (await clients.findOwn(userId, clientId))?.name
  }
  const ownedApps = developerApps === 'off' ? [ofOperators] : [ofUsers, ofOperators]
  return (account) => void account.register(refusalRoutes, { issuer, ownedApps, refusals })
}

function watchClientRefusals(metrics: Metrics, refusals: Pick<ClientRefusals, 'dropped'>): void {
  metrics.countElsewhere(
    {
      name: 'valetkey_client_refusals_dropped_total',
      help: 'Refusals that developers of apps will not see, by cause.'
    },
    () => Object.entries(refusals.dropped()).map(([cause, value]) => ({ labels: { cause }, value }))
  )
}
