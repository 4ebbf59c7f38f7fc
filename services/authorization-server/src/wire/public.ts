import { setTimeout as sleep } from 'node:timers/promises'
import type { PublicDeps } from '../app.js'
import type { ClientFinder } from '../browser/pending-requests/client-finder.js'
import type { Config } from '../config.js'
import type { FeatureSurfaces } from '../feature.js'
import { loadBranding } from '../http/branding.js'
import type { PageFiles } from '../http/page-files.js'
import { createRandomPool } from '../platform/random-pool.js'
import type { CodeReturns } from '../protocol/token/give-back-codes.js'
import type { Platform } from './platform.js'
import { wireSignIn } from './sign-in.js'
import type { Stores } from './stores.js'

const randomBytes = createRandomPool()

/**
 * The public listener: pages for browsers, and the endpoints that clients call.
 * @param core.surfaces what features add
 * @param core.files what the pages consist of
 */
export function wirePublic(
  config: Config,
  stores: Stores,
  platform: Platform,
  core: Parameters<typeof wirePages>[3] & { returns: CodeReturns; files: PageFiles }
): PublicDeps {
  const { finder, returns, files } = core
  return {
    discoversClients: finder !== undefined,
    pages: pageOptions(config, platform, files),
    scopes: stores.registry.scopes,
    logos: { issuer: config.issuer, clientLogos: stores.clientLogos },
    ...wirePages(config, stores, platform, core),
    ...wireTokenEndpoints(config, stores, platform, returns)
  }
}

function pageOptions(config: Config, { languages }: Platform, files: PageFiles): PublicDeps['pages'] {
  const { issuer, developerApps } = config
  const hasDeveloperPages = developerApps !== 'off'
  return { issuer, languages, branding: loadBranding(config), hasDeveloperPages, files }
}

function wirePages(
  config: Config,
  stores: Stores,
  platform: Platform,
  core: Pick<PublicDeps, 'session'> &
    Pick<PublicDeps['authorize'], 'refusals'> & {
      finder: ClientFinder | undefined
      surfaces: readonly FeatureSurfaces[]
    }
): Omit<PublicDeps, 'discoversClients' | 'pages' | 'scopes' | 'logos' | 'token' | 'revocation'> {
  const { finder, session, refusals, surfaces } = core
  const { audit, now } = platform
  const { issuer, cookieKeys } = config
  const page = { issuer, cookieKeys, audit }
  const { allowances, codes, connectedApps, consents, pending } = stores
  const { clients, resourceServers, scopes } = stores.registry
  const validation = {
    clients,
    resourceServers,
    scopes,
    rights: stores.registered.clients,
    defaultAudience: config.resourceUrl,
    finder
  }
  const added = surfaces.flatMap(({ signInWays }) => signInWays ?? [])
  const foreignSignOut = surfaces.find((surface) => surface.foreignSignOut !== undefined)?.foreignSignOut
  const issue = { codes, audit, codeTtl: config.codeTtl, randomBytes }
  return {
    session,
    authorize: { ...validation, ...issue, issuer, pending, allowances, sessionUses: session.sessionUses, refusals },
    consent: {
      ...page,
      ...validation,
      ...issue,
      finder,
      pending,
      consents,
      allowances,
      lifetimes: tokenLifetimes(config)
    },
    formCount: { limitsFactor: config.limitsFactor },
    account: { ...page, connectedApps, scopes, resourceServers, now, foreignSignOut },
    ...wireSignIn(config, stores, platform, { ...validation, session, added, foreignSignOut })
  }
}

function wireTokenEndpoints(
  config: Config,
  stores: Stores,
  { audit, limiter, usage, now }: Platform,
  returns: CodeReturns
): Pick<PublicDeps, 'token' | 'revocation'> {
  const { accessTokens, codes, grants, refreshTokens } = stores
  const authentication = { clients: stores.registry.clients, limiter, usage: usage.clientSecrets, now }
  const lifetimes = tokenLifetimes(config)
  return {
    token: {
      ...authentication,
      codes,
      returns,
      refreshTokens,
      grants,
      audit,
      lifetimes,
      limitsFactor: config.limitsFactor,
      retryWindow: config.refreshRetryWindow,
      randomBytes,
      sleep
    },
    revocation: { ...authentication, accessTokens, refreshTokens, audit }
  }
}

function tokenLifetimes({ accessTokenTtl, refreshTokenIdleTtl, refreshTokenMaxTtl }: Config) {
  return { accessToken: accessTokenTtl, refreshTokenIdle: refreshTokenIdleTtl, refreshTokenMax: refreshTokenMaxTtl }
}
