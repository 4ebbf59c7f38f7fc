import type { ForeignWay } from '../../browser/login/sign-in-ways.js'
import type { Config } from '../../config.js'
import type { FeatureParts, FeatureSurfaces, SignInParts } from '../../feature.js'
import { configuredWays } from '../../wire/configured-ways.js'
import type { Platform } from '../../wire/platform.js'
import type { ForeignSignInDeps } from './foreign-sign-in-deps.js'
import { identityRoutes } from './identities/identity-admin-routes.js'
import { createIdentityStore } from './identities/identity-store.js'
import { createLinkProposalStore } from './identities/link-proposal-store.js'
import { linkingRoutes } from './identities/linking-routes.js'
import { createOwnIdentityStore } from './identities/own-identity-store.js'
import { createSignInAttemptStore } from './identities/sign-in-attempt-store.js'
import { signInsRoutes } from './identities/sign-ins-routes.js'
import { HANDOFF_PATH, handoffRoutes } from './login-page/handoff-routes.js'
import { loadCredential } from './providers/client-credential.js'
import { createProvider, type Provider, pathOfProvider } from './providers/provider.js'
import { providerLogoutRoutes } from './providers/provider-logout-routes.js'
import { createProviderLogoutStore } from './providers/provider-logout-store.js'
import { formPostRoutes, providerRoutes } from './providers/provider-routes.js'
import { createFetch } from './providers/proxied-fetch.js'
import { createSignOutAtProvider } from './providers/sign-out-at-provider.js'

/** Stores of identities, and of sign-ins that have left for a provider or a login page. */
function createForeignStores({ database, redis, records }: FeatureParts) {
  return {
    identities: createIdentityStore(database),
    ownIdentities: createOwnIdentityStore(database),
    attempts: createSignInAttemptStore(redis, records),
    proposals: createLinkProposalStore(redis, records),
    logouts: createProviderLogoutStore(redis, database)
  }
}

/** Sign-in with providers and a login page, linking, and the page of the ways to sign in. */
export function startForeignSignIn(parts: FeatureParts): FeatureSurfaces {
  const { config, platform, session, stores: core } = parts
  const { issuer, cookieKeys } = config
  const { audit, now } = platform
  const stores = createForeignStores(parts)
  const { identities, ownIdentities, logouts } = stores
  const providers = createProviders(config, platform)
  const signIns = {
    issuer,
    cookieKeys,
    identities,
    ownIdentities,
    ways: linkableWays(config),
    configured: configuredWays(config),
    signInWays: core.signInWays,
    session,
    audit
  }
  return {
    signInWays: foreignWays(config),
    signInPages: (pages, signIn) => {
      const deps = pageDeps(parts, stores, signIn)
      pages.register(linkingRoutes, deps)
      if (config.signIn.handoff !== undefined) {
        pages.register(handoffRoutes, { ...deps, settings: config.signIn.handoff })
      }
      pages.register(providerRoutes, { ...deps, providers })
    },
    signInEndpoints: (oauth) => {
      oauth.register(providerLogoutRoutes, { providers, logouts, audit, now })
      oauth.register(formPostRoutes, { issuer, providers })
    },
    accountPages: (account) => void account.register(signInsRoutes, signIns),
    adminRoutes: (admin) => void admin.register(identityRoutes, { identities, users: core.users }),
    foreignSignOut: createSignOutAtProvider({ issuer, providers, session }),
    hasEnded: (way) => way.kind === 'provider' && logouts.hasEnded(way)
  }
}

function pageDeps(
  { config, platform, session, stores }: FeatureParts,
  foreignStores: Pick<ForeignSignInDeps, 'identities' | 'ownIdentities' | 'attempts' | 'proposals'>,
  signIn: SignInParts
): ForeignSignInDeps {
  const { issuer, cookieKeys } = config
  const { audit, limiter, now } = platform
  const { pending, users } = stores
  return { ...foreignStores, ...signIn, issuer, cookieKeys, session, pending, users, limiter, audit, now }
}

function foreignWays({ signIn: { providers, handoff } }: Config): readonly ForeignWay[] {
  const ways = providers.map(({ id, label }) => ({ kind: 'foreign', id, label, path: pathOfProvider({ id }) }) as const)
  if (handoff === undefined) return ways
  return [...ways, { kind: 'foreign', id: 'handoff', label: handoff.label, path: HANDOFF_PATH }]
}

function createProviders({ issuer, signIn }: Config, { logger }: Platform): readonly Provider[] {
  const send = createFetch(signIn.proxy)
  return signIn.providers.map((settings) =>
    createProvider(
      settings,
      loadCredential(settings),
      `${issuer}${pathOfProvider(settings)}/callback`,
      send,
      ({ kid, reason }) =>
        logger?.info(
          { event: 'provider_key_skipped', provider: settings.id, kid, reason },
          'a key of a provider is not used'
        )
    )
  )
}

/** The ways that the page of the user's own ways to sign in offers. */
function linkableWays({ issuer: ours, signIn: { providers, handoff } }: Config) {
  const linkable = ({ label, issuer, path }: { label: string; issuer: string; path: string }) => ({
    label,
    issuer,
    startUrl: `${ours}${path}?purpose=link`
  })
  const ofProviders = providers.map((provider) => linkable({ ...provider, path: pathOfProvider(provider) }))
  return handoff === undefined ? ofProviders : [...ofProviders, linkable({ ...handoff, path: HANDOFF_PATH })]
}
