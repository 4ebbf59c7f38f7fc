import type { FormWay } from '../../browser/login/sign-in-ways.js'
import type { Feature, FeatureParts } from '../../feature.js'
import { configuredWays, passkeyParty } from '../../wire/configured-ways.js'
import { PASSKEY_EVENTS } from './audit-events.js'
import { passkeyRoutes as passkeyAdminRoutes } from './passkey-admin-routes.js'
import { addPasskeyCommands } from './passkey-commands.js'
import type { PasskeyDeps } from './passkey-deps.js'
import { passkeyRoutes } from './passkey-routes.js'
import { PASSKEY_SCRIPTS } from './passkey-scripts.js'
import { signInOptions, signInWithPasskey } from './passkey-sign-in.js'
import { createPasskeyStore } from './passkey-store.js'
import { createUsedChallengeStore } from './used-challenge-store.js'

/** Passkeys of local accounts. */
export const passkeys: Feature = {
  auditEvents: PASSKEY_EVENTS,
  start(parts) {
    const pages = wirePasskeyPages(parts)
    const { users } = parts.stores
    return {
      signInWays: passkeyForms(pages),
      accountPages: (account) => void account.register(passkeyRoutes, pages),
      adminRoutes: (admin) => void admin.register(passkeyAdminRoutes, { passkeys: pages.passkeys, users })
    }
  },
  addCommands: ({ users }, context) => addPasskeyCommands(users, context),
  commandExamples: {
    'users passkeys': 'users passkeys alice',
    'users remove-passkeys': 'users remove-passkeys alice'
  }
}

function wirePasskeyPages({ config, database, redis, stores, platform, session }: FeatureParts): PasskeyDeps {
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
  }
}

/** None if no passkeys can be used at the address of the issuer, or without local accounts. */
function passkeyForms(pages: PasskeyDeps): readonly FormWay[] {
  const { relyingParty } = pages
  if (relyingParty === undefined) return []
  const deps = { ...pages, relyingParty }
  return [
    {
      kind: 'form',
      id: 'passkey',
      texts: { refused: 'login.passkey_failed', expired: 'login.passkey_expired' },
      onPage: (owner, { options, action }) => ({
        scripts: PASSKEY_SCRIPTS,
        content: { passkeyOptions: signInOptions(owner, deps), passkeyOptionsUrl: options, passkeyAction: action }
      }),
      start: (owner) => signInOptions(owner, deps),
      finish: (request) => signInWithPasskey(request, deps)
    }
  ]
}
