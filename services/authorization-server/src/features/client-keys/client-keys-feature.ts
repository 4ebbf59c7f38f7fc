import type { Feature, FeatureParts } from '../../feature.js'
import type { AssertionAuthentication } from '../../platform/client-authentication/authenticate-client.js'
import { resolveHost } from '../../platform/fetch/resolve-host.js'
import { createUsage } from '../../platform/usage.js'
import { wireDeveloperPages } from '../developer-apps/wire-developer-apps.js'
import { createAppKeyChangeStore } from './app-key-change-store.js'
import { appKeyRoutes } from './app-key-routes.js'
import { CLIENT_KEY_EVENTS } from './audit-events.js'
import { createAssertionAuthentication } from './authenticate-assertion.js'
import { createClientAssertionStore } from './client-assertion-store.js'
import { clientKeyRoutes } from './client-key-admin-routes.js'
import { addClientKeyCommands } from './client-key-commands.js'
import { createClientKeySetStore } from './client-key-set-store.js'
import { createClientKeyStore } from './client-key-store.js'
import { examineClientKeys } from './examine-client-keys.js'
import { fetchKeySet, fetchKeysOfDocument, type ReachHosts } from './fetch-key-set.js'
import { createKeyFinder } from './find-keys.js'

/** Clients that authenticate with a key instead of a secret: `private_key_jwt` (RFC 7523 §2.2). */
export const clientKeys: Feature = createClientKeysFeature({ resolve: resolveHost })

/** The feature with other ways to reach the hosts of clients, for tests. */
export function createClientKeysFeature(reach: ReachHosts): Feature {
  return {
    auditEvents: CLIENT_KEY_EVENTS,
    start(parts) {
      const keys = createClientKeyStore(parts.database)
      const usage = createUsage(keys, parts.platform.now)
      const { clients, changes } = parts.stores.registered
      const pages = wireDeveloperPages(parts)
      const keyChanges = createAppKeyChangeStore(parts.database)
      return {
        assertions: wireAssertions(parts, reach, usage),
        accountPages:
          pages && ((account) => void account.register(appKeyRoutes, { ...pages, clients, keys, keyChanges })),
        adminRoutes: (admin) => void admin.register(clientKeyRoutes, { clients, changes, keys }),
        closeables: [usage]
      }
    },
    examineRecords: {
      check: 'client keys',
      examine: (_config, database) => examineClientKeys(database, new Date())
    },
    addCommands: ({ clients }, context) => addClientKeyCommands(clients, context),
    commandExamples: {
      'clients keys add': 'clients keys add vFGEDyNdC3tnqTRj0OKUxY --jwks public.pem',
      'clients keys list': 'clients keys list vFGEDyNdC3tnqTRj0OKUxY',
      'clients keys remove': 'clients keys remove vFGEDyNdC3tnqTRj0OKUxY key-2026'
    }
  }
}

function wireAssertions(
  { config, database, redis, stores, platform: { now, logger } }: FeatureParts,
  reach: ReachHosts,
  usage: ReturnType<typeof createUsage>
): AssertionAuthentication {
  const { allowsLoopback } = config.clientMetadata.policy
  const keys = createKeyFinder({
    fetch: (jwksUri) => fetchKeySet(jwksUri, { ...reach, allowsLoopback }),
    fetchFromDocument: (clientId) => fetchKeysOfDocument(clientId, { ...reach, allowsLoopback }),
    sets: createClientKeySetStore(database),
    onFailure: (clientId, { reason, detail }) =>
      logger?.warn({ event: 'client_keys_not_fetched', clientId, reason, detail }, 'keys of a client were not fetched'),
    now
  })
  return createAssertionAuthentication({
    clients: stores.registry.clients,
    keys,
    assertions: createClientAssertionStore(redis),
    usage,
    issuer: config.issuer,
    onOtherAudience: (clientId) =>
      logger?.info({ event: 'assertion_audience', clientId }, 'an assertion names the token endpoint as audience'),
    now
  })
}
