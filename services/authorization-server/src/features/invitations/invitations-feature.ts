import type { SignInWays } from '../../browser/login/sign-in-ways.js'
import type { Feature, FeatureParts } from '../../feature.js'
import { newPasswordRules } from '../../platform/passwords/new-password.js'
import { accountLinkAdminRoutes } from './account-link-admin-routes.js'
import { addAccountLinkCommands } from './account-link-commands.js'
import type { AccountLinkDeps } from './account-link-deps.js'
import { accountLinkRoutes } from './account-link-routes.js'
import { type AccountLinkStore, createAccountLinkStore } from './account-link-store.js'
import { ACCOUNT_LINK_EVENTS } from './audit-events.js'
import type { AccountLinkAdministration } from './give-account-link.js'
import { userInvitation } from './invite-new-user.js'
import { createAccountLinkMailer } from './mail-account-link.js'

/** Links that operators give to users: invitations, and links for a new password. */
export const invitations: Feature = {
  auditEvents: ACCOUNT_LINK_EVENTS,
  start(parts) {
    const accountLinks = createAccountLinkStore(parts.database)
    const administration = wireAdministration(parts, accountLinks)
    return {
      adminRoutes: (admin) => void admin.register(accountLinkAdminRoutes, administration),
      signInPages: (pages, { ways }) => void pages.register(accountLinkRoutes, pageDeps(parts, accountLinks, ways))
    }
  },
  addCommands: ({ users }, context) => addAccountLinkCommands(users, context),
  userInvitation,
  commandExamples: {
    'users invite': 'users invite alice',
    'users reset-link': 'users reset-link alice'
  }
}

function wireAdministration(
  { config, stores, platform }: FeatureParts,
  accountLinks: AccountLinkStore
): AccountLinkAdministration {
  const { issuer, productName, signIn } = config
  const { users } = stores
  const { languages } = platform
  const mailLink = createAccountLinkMailer({ ...signIn, productName })
  return { issuer, local: signIn.local, users, accountLinks, mailLink, languages }
}

function pageDeps(
  { config, platform, session, stores }: FeatureParts,
  accountLinks: AccountLinkStore,
  ways: SignInWays
): AccountLinkDeps {
  const { issuer, cookieKeys } = config
  const { audit, limiter, passwordQueue } = platform
  const { pending } = stores
  const passwordRules = newPasswordRules({ ...config, ...config.signIn })
  return {
    issuer,
    cookieKeys,
    session,
    pending,
    ways,
    accountLinks,
    limiter,
    passwordQueue,
    passwordRules,
    audit
  }
}
