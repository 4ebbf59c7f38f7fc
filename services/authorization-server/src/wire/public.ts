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
  core: Omit<Parameters<typeof wirePages>[3], 'bindsToKeys' | 'accessEnds'> & { returns: CodeReturns; files: PageFiles }
): PublicDeps {
  const { finder, returns, surfaces, files } = core
  const assertions = surfaces.find((added) => added.assertions !== undefined)?.assertions
  const clientAdmission = surfaces.find((added) => added.clientAdmission !== undefined)?.clientAdmission
  const senderConstraint = surfaces.find((added) => added.senderConstraint !== undefined)?.senderConstraint
  const accessEnds = surfaces.find((added) => added.accessEnds !== undefined)?.accessEnds
  const foreignRefreshTokens = surfaces.find((added) => added.foreignRefreshTokens !== undefined)?.foreignRefreshTokens
  return {
    discoversClients: finder !== undefined,
    pages: pageOptions(config, platform, files),
    scopes: stores.registry.scopes,
    logos: { issuer: config.issuer, clientLogos: stores.clientLogos },
    ...wirePages(config, stores, platform, { ...core, accessEnds, bindsToKeys: senderConstraint !== undefined }),
    ...wireTokenEndpoints(config, stores, platform, {
      returns,
      assertions,
      clientAdmission,
      senderConstraint,
      foreignRefreshTokens,
      tellsEnds: accessEnds !== undefined
    })
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
    Pick<PublicDeps['authorize'], 'refusals' | 'bindsToKeys'> &
    Pick<PublicDeps['consent'], 'accessEnds'> & {
      finder: ClientFinder | undefined
      surfaces: readonly FeatureSurfaces[]
    }
): Omit<PublicDeps, 'discoversClients' | 'pages' | 'scopes' | 'logos' | 'token' | 'revocation'> {
  const { finder, bindsToKeys, session, refusals, surfaces, accessEnds } = core
  const references = surfaces.find(({ requestReferences }) => requestReferences !== undefined)?.requestReferences
  const { audit, now } = platform
  const { sessionUses } = session
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
    finder,
    bindsToKeys,
    references
  }
  const beforeAllow = surfaces.find((surface) => surface.beforeAllow !== undefined)?.beforeAllow
  const added = surfaces.flatMap(({ signInWays }) => signInWays ?? [])
  const listed = { accessEnds, ...accountParts(surfaces) }
  const { foreignSignOut, selections } = listed
  const issue = { codes, audit, codeTtl: config.codeTtl, randomBytes }
  return {
    session,
    authorize: { ...validation, ...issue, issuer, pending, allowances, sessionUses, refusals, now },
    consent: {
      ...page,
      ...validation,
      ...issue,
      finder,
      pending,
      consents,
      allowances,
      beforeAllow,
      lifetimes: tokenLifetimes(config),
      accessEnds,
      selections,
      now
    },
    formCount: { limitsFactor: config.limitsFactor },
    account: { ...page, ...listed, connectedApps, scopes, resourceServers, now },
    ...wireSignIn(config, stores, platform, { ...validation, session, added, foreignSignOut })
  }
}

/** What features add to the pages of the account, beside pages of their own; `selections` is of the consent page, too. */
function accountParts(surfaces: readonly FeatureSurfaces[]) {
  return {
    foreignSignOut: surfaces.find((surface) => surface.foreignSignOut !== undefined)?.foreignSignOut,
    appHistory: surfaces.find((surface) => surface.appHistory !== undefined)?.appHistory,
    selections: surfaces.find((surface) => surface.selections !== undefined)?.selections
  }
}

function wireTokenEndpoints(
  config: Config,
  stores: Stores,
  { audit, limiter, usage, now }: Platform,
  {
    returns,
    assertions,
    clientAdmission,
    senderConstraint,
    foreignRefreshTokens,
    tellsEnds
  }: { returns: CodeReturns } & Pick<
    PublicDeps['token'],
    'assertions' | 'clientAdmission' | 'senderConstraint' | 'foreignRefreshTokens' | 'tellsEnds'
  >
): Pick<PublicDeps, 'token' | 'revocation'> {
  const { accessTokens, codes, grants, refreshTokens } = stores
  const { clients } = stores.registry
  const authentication = { clients, limiter, usage: usage.clientSecrets, assertions, clientAdmission, now }
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
      senderConstraint,
      foreignRefreshTokens,
      tellsEnds,
      randomBytes,
      sleep
    },
    revocation: { ...authentication, accessTokens, refreshTokens, foreignRefreshTokens, audit }
  }
}

function tokenLifetimes({ accessTokenTtl, refreshTokenIdleTtl, refreshTokenMaxTtl }: Config) {
  return { accessToken: accessTokenTtl, refreshTokenIdle: refreshTokenIdleTtl, refreshTokenMax: refreshTokenMaxTtl }
}
