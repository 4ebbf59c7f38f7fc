import * as oauth from 'openid-client'
import type { Config } from '../config.js'

/** Returns the discovered authorization server. */
export type Discover = () => Promise<oauth.Configuration>

const TIME_LIMIT_SECONDS = 8

/**
 * Fetches the metadata (RFC 8414) when it is first needed and caches it, so this app starts and serves pages while the
 * authorization server is unavailable. Concurrent requests share one fetch.
 */
export function discoverOnce(config: Config): Discover {
  let known: Promise<oauth.Configuration> | undefined

  async function discover(): Promise<oauth.Configuration> {
    return oauth.discovery(config.issuer, config.clientId, undefined, oauth.ClientSecretBasic(config.clientSecret), {
      algorithm: 'oauth2',
      timeout: TIME_LIMIT_SECONDS,
      // Plain http is for a trial on one machine; by default the library refuses it.
      execute: config.issuer.protocol === 'http:' ? [oauth.allowInsecureRequests] : []
    })
  }

  return () => {
    known ??= discover().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}
