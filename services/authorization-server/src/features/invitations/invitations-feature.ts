import type { Feature, FeatureParts } from '../../feature.js'
import { accountLinkAdminRoutes } from './account-link-admin-routes.js'
import { addAccountLinkCommands } from './account-link-commands.js'
import type { AccountLinkAdministration } from './give-account-link.js'
import { userInvitation } from './invite-new-user.js'
import { createAccountLinkMailer } from './mail-account-link.js'

/** Links that operators give to users: invitations, and links for a new password. */
export const invitations: Feature = {
  start(parts) {
    const administration = wireAdministration(parts)
    return { adminRoutes: (admin) => void admin.register(accountLinkAdminRoutes, administration) }
  },
  addCommands: ({ users }, context) => addAccountLinkCommands(users, context),
  userInvitation
}

function wireAdministration({ config, stores, platform }: FeatureParts): AccountLinkAdministration {
  const { issuer, productName, signIn } = config
  const { accountLinks, users } = stores
  const { languages } = platform
  const mailLink = createAccountLinkMailer({ ...signIn, productName })
  return { issuer, local: signIn.local, users, accountLinks, mailLink, languages }
}
