import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { readAccountSettings } from '../../config.js'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { findUserByEither } from '../../operator/use-cases/administer-users.js'
import { loadLanguages } from '../../platform/i18n/language.js'
import { createUserStore } from '../../storage/postgres/users.js'
import { type AccountLinkPurpose, createAccountLinkStore } from './account-link-store.js'
import {
  type AccountLinkAdministration,
  type GivenLink,
  giveAccountLink,
  givenLinkDocument
} from './give-account-link.js'
import { createAccountLinkMailer } from './mail-account-link.js'

/** The option of all commands that may send a link. */
export const LANGUAGE_OPTION = ['--language <tag>', 'language of the mail, such as de; default en'] as const

const VALID = { invitation: '72 hours', password_reset: 'one hour' } as const

export function addAccountLinkCommands(users: Command, context: CommandDeps): void {
  const add = (name: string, description: string, purpose: AccountLinkPurpose) =>
    users
      .command(name)
      .description(description)
      .argument('<user>', 'id or name')
      .option(...LANGUAGE_OPTION)
      .option('--json', 'print {"user_id","username","url","expires_at","mailed"}')
      .action(async (given: string, { language, json }: { language?: string; json?: boolean }) => {
        const deps = accountLinkDeps(context)
        const { userId } = await findUserByEither(given, deps)
        const link = await giveAccountLink({ userId, purpose, language }, authorOf(context), deps)
        printLink(link, purpose, json, context)
      })
  add('invite', 'print a link, valid for 72 hours, with which a user sets a password or links a provider', 'invitation')
  add('reset-link', 'print a link, valid for one hour, with which a user sets a new password', 'password_reset')
}

/** @throws {CommandFailure} without `ISSUER` */
export function accountLinkDeps(
  context: CommandDeps
): AccountLinkAdministration & { users: ReturnType<typeof createUserStore> } {
  const settings = readAccountSettings(context.environment())
  const { issuer, local } = settings
  if (issuer === undefined) {
    throw new CommandFailure(
      'usage',
      'ISSUER: is missing: the public base URL of the server, which the link begins with'
    )
  }
  return {
    issuer,
    local,
    users: createUserStore(context.database()),
    accountLinks: createAccountLinkStore(context.database()),
    mailLink: createAccountLinkMailer(settings),
    languages: loadLanguages()
  }
}

export function printLink(
  link: GivenLink,
  purpose: AccountLinkPurpose,
  json: boolean | undefined,
  context: CommandDeps
): void {
  const { user, url, isMailed, mailProblem } = link
  const mailed = isMailed ? [`It was also sent to ${user.email}.`] : []
  const lines = [url, `For user ${user.username}, once, within ${VALID[purpose]}. It cannot be shown again.`, ...mailed]
  printResult(context, json, givenLinkDocument(link), lines)
  if (mailProblem !== undefined) context.say(`valetkey: the link was not sent: ${mailProblem}\n`)
}
