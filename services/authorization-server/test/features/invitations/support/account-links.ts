import {
  type AccountLinkPurpose,
  createAccountLinkStore
} from '../../../../src/features/invitations/account-link-store.js'
import { giveAccountLink } from '../../../../src/features/invitations/give-account-link.js'
import type { TestServer } from '../../../support/authorization-server.js'
import { OPERATOR } from '../../../support/command-line.js'

/** Makes a link for a user, as an operator without a mail server does. */
export async function newAccountLink(
  { config, database, deps }: TestServer,
  userId: string,
  purpose: AccountLinkPurpose
): Promise<string> {
  const author = { actor: { kind: 'command_line', name: OPERATOR } } as const
  const { url } = await giveAccountLink({ userId, purpose }, author, {
    issuer: config.issuer,
    local: config.signIn.local,
    users: deps.admin.users.users,
    accountLinks: createAccountLinkStore(database),
    mailLink: undefined,
    languages: deps.pages.languages
  })
  return url
}
