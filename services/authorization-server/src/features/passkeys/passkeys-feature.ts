import type { Feature, FeatureParts } from '../../feature.js'
import { configuredWays, passkeyParty } from '../../wire/configured-ways.js'
import { passkeyRoutes as passkeyAdminRoutes } from './passkey-admin-routes.js'
import { addPasskeyCommands } from './passkey-commands.js'
import type { PasskeyPageOptions } from './passkey-page.js'
import { passkeyRoutes } from './passkey-routes.js'
import { createPasskeyStore } from './passkey-store.js'
import { createUsedChallengeStore } from './used-challenge-store.js'

/** Passkeys of local accounts. */
export const passkeys: Feature = {
  start(parts) {
    const pages = wirePasskeyPages(parts)
    const { users } = parts.stores
    return {
      accountPages: (account) => void account.register(passkeyRoutes, pages),
      adminRoutes: (admin) => void admin.register(passkeyAdminRoutes, { passkeys: pages.passkeys, users })
    }
  },
  addCommands: ({ users }, context) => addPasskeyCommands(users, context)
}

function wirePasskeyPages({ config, database, redis, stores, platform, session }: FeatureParts) {
  const { issuer, cookieKeys, productName } = config
  const { audit, limiter, now } = platform
  return {
    issuer,
    cookieKeys,
    productName,
    relyingParty: passkeyParty(config),
    configured: configuredWays(config),
    passkeys: createPasskeyStore(database),
    ways: stores.signInWays,
    challenges: createUsedChallengeStore(redis),
    session,
    audit,
    limiter,
    now
  } satisfies PasskeyPageOptions
}
