import { randomBytes } from 'node:crypto'
import type { Database } from '@valetkey/service-kit'
import type { Config } from '../../config.js'
import type { FeatureParts } from '../../feature.js'
import type { Stores } from '../../wire/stores.js'
import { createAppPeopleStore } from './app-people-store.js'
import { createAppSecretChangeStore } from './app-secret-change-store.js'
import { createDeveloperAppChangeStore } from './developer-app-change-store.js'
import { createDeveloperAppStore } from './developer-app-store.js'
import type { DeveloperPageOptions } from './developer-page.js'
import type { OwnAppDeps } from './own-apps.js'
import type { OwnedClientPageOptions } from './owned-clients/owned-client-page.js'
import { createOwnedClientStore } from './owned-clients/owned-client-store.js'

/** What users need to register apps; undefined with `DEVELOPER_APPS=off`. */
export function wireOwnApps({
  config,
  database,
  stores
}: {
  config: Pick<Config, 'developerApps' | 'productName'>
  database: Database
  stores: Pick<Stores, 'consents' | 'registered'>
}): OwnAppDeps | undefined {
  const { developerApps: mode, productName } = config
  if (mode === 'off') return undefined
  return {
    mode,
    productName,
    apps: createDeveloperAppStore(database),
    changes: createDeveloperAppChangeStore(database),
    people: createAppPeopleStore(database),
    secrets: stores.registered.secrets,
    secretChanges: createAppSecretChangeStore(database),
    scopes: stores.registered.scopes,
    consents: stores.consents,
    randomBytes
  }
}

/** What owners of clients need, whether users can register apps or not. */
export function wireOwnedClientPages({ config, database, platform, stores }: FeatureParts): OwnedClientPageOptions {
  const { issuer, cookieKeys, resourceUrl: defaultAudience } = config
  const { audit, limiter, now } = platform
  const { secrets, scopes } = stores.registered
  const ownedClients = createOwnedClientStore(database)
  return { issuer, cookieKeys, audit, limiter, now, defaultAudience, secrets, scopes, randomBytes, ownedClients }
}

/** Undefined if users cannot register apps. */
export function wireDeveloperPages(parts: FeatureParts): DeveloperPageOptions | undefined {
  const { issuer, cookieKeys, resourceUrl: defaultAudience } = parts.config
  const { audit, limiter, now } = parts.platform
  const ownApps = wireOwnApps(parts)
  return (
    ownApps && {
      ...ownApps,
      issuer,
      defaultAudience,
      cookieKeys,
      now,
      audit,
      limiter,
      clientLogos: parts.stores.clientLogos
    }
  )
}
