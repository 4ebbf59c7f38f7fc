import { randomBytes } from 'node:crypto'
import type { SessionOptions } from '../../browser/session/session-plugin.js'
import type { Config } from '../../config.js'
import type { Platform } from '../../wire/platform.js'
import type { Stores } from '../../wire/stores.js'
import type { DeveloperPageOptions } from './developer-page.js'
import type { OwnAppDeps } from './own-apps.js'

type AppStores = Pick<Stores, 'apps' | 'appChanges' | 'appPeople' | 'appSecretChanges' | 'consents' | 'registered'>

/** What users need to register apps; undefined with `DEVELOPER_APPS=off`. */
export function wireOwnApps(
  { developerApps: mode, productName }: Pick<Config, 'developerApps' | 'productName'>,
  { apps, appChanges: changes, appPeople: people, appSecretChanges: secretChanges, consents, registered }: AppStores
): OwnAppDeps | undefined {
  if (mode === 'off') return undefined
  const { secrets, scopes } = registered
  return { mode, productName, apps, changes, people, secrets, secretChanges, scopes, consents, randomBytes }
}

/** Undefined if users cannot register apps. */
export function wireDeveloperPages(
  config: Config,
  stores: Stores,
  session: SessionOptions,
  { audit, limiter }: Platform
): DeveloperPageOptions | undefined {
  const { issuer, cookieKeys } = config
  const ownApps = wireOwnApps(config, stores)
  return ownApps && { ...ownApps, issuer, cookieKeys, session, audit, limiter, logos: stores.clientLogos }
}
