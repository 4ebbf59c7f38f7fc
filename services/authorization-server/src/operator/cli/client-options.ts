import type { Command } from 'commander'
import type { ClientSettings } from '../use-cases/client-settings.js'
import { readLifetime } from './duration.js'

export type ClientOptions = {
  name?: string
  redirectUri?: readonly string[]
  scope?: readonly string[]
  optionalScope?: readonly string[]
  resource?: readonly string[]
  refresh?: boolean
  requirePkce?: boolean
  consent?: string
  verified?: boolean
  accessTokenTtl?: string
  refreshTokenIdleTtl?: string
  refreshTokenMaxTtl?: string
}

export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}

/** Options of both `create` and `update`. */
export function addLifetimeOptions(command: Command): Command {
  return command
    .option('--access-token-ttl <duration>', 'such as 600 or 10m, at most the server’s value; or "default"')
    .option('--refresh-token-idle-ttl <duration>', 'maximum time between two uses of a refresh token')
    .option('--refresh-token-max-ttl <duration>', 'maximum time from consent to the last refresh')
}

export function settingsOf(options: ClientOptions): ClientSettings {
  return {
    name: options.name,
    redirectUris: options.redirectUri,
    requiredScopes: options.scope,
    optionalScopes: options.optionalScope,
    resources: options.resource,
    refresh: options.refresh,
    requirePkce: options.requirePkce,
    consent: options.consent,
    verified: options.verified,
    accessTokenTtl: readLifetime(options.accessTokenTtl, '--access-token-ttl'),
    refreshTokenIdleTtl: readLifetime(options.refreshTokenIdleTtl, '--refresh-token-idle-ttl'),
    refreshTokenMaxTtl: readLifetime(options.refreshTokenMaxTtl, '--refresh-token-max-ttl')
  }
}
