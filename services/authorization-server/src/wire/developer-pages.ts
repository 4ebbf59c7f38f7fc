import type { DeveloperPageOptions } from '../browser/account/developer/sender.js'
import type { SessionOptions } from '../browser/session/session-plugin.js'
import type { Config } from '../config.js'
import { wireOwnApps } from './developer-apps.js'
import type { Platform } from './platform.js'
import type { Stores } from './stores.js'

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
