import { authorOf } from '../../operator/cli/command-deps.js'
import type { UserInvitation } from '../../operator/cli/user-invitation.js'
import { accountLinkDeps, LANGUAGE_OPTION, printLink } from './account-link-commands.js'
import { giveAccountLink, requireLanguage } from './give-account-link.js'

/** Prints an invitation link for a new user without a password. */
export const userInvitation: UserInvitation = {
  description: 'print an invitation link that is valid for 72 hours',
  members: '"url", "expires_at", "mailed"',
  options: [LANGUAGE_OPTION],
  prepare({ language }, context) {
    const deps = accountLinkDeps(context)
    requireLanguage(language, deps)
    return async (userId, json) => {
      const link = await giveAccountLink({ userId, purpose: 'invitation', language }, authorOf(context), deps)
      printLink(link, 'invitation', json, context)
    }
  }
}
