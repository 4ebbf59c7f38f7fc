import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { Feature } from '../../feature.js'
import {
  accountLinkDeps,
  addAccountLinkCommands,
  LANGUAGE_OPTION,
  printLink
} from '../../features/invitations/account-link-commands.js'
import { giveAccountLink, requireLanguage } from '../../features/invitations/give-account-link.js'
import {
  createUser,
  findUserByEither,
  listUsers,
  setPassword,
  type UserAdministration,
  userDocument
} from '../use-cases/administer-users.js'
import { readAllPages } from '../use-cases/pages.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { addLimitOption, upTo } from './limit.js'
import { readSecret } from './read-secret.js'
import { table } from './table.js'
import { userAdministrationOf } from './user-administration.js'
import { addUserEndingCommands } from './user-ending-commands.js'

const PASSWORD_STDIN = 'read the password from standard input; one trailing line break is dropped'

type ListOptions = { json?: boolean; limit?: number }

/** @returns the group `users` */
export function addUserCommands(
  program: Command,
  context: CommandDeps,
  features: readonly Pick<Feature, 'userFinder'>[]
): Command {
  const users = program.command('users').description('users who sign in')
  const deps = (): UserAdministration => userAdministrationOf(context)

  addCreateCommand(users, deps, context)

  addLimitOption(users.command('list'))
    .description('list all users')
    .option('--json', 'print {"users":[…]}')
    .action(async ({ json, limit }: ListOptions) => {
      const found = upTo(
        limit,
        await readAllPages((page) => listUsers(page, deps()), limit && limit + 1),
        'users',
        context
      )
      const rows = found.map((user) => [user.userId, user.username, user.disabled ? 'disabled' : 'enabled'])
      const lines = rows.length === 0 ? ['There are no users.'] : table(['USER ID', 'USER NAME', 'STATE'], rows)
      printResult(context, json, { users: found.map(userDocument) }, lines)
    })

  users
    .command('show')
    .description('show one user')
    .argument('<user>', 'id or name')
    .option('--id', 'print only the id')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { id, json }: { id?: boolean; json?: boolean }) => {
      const document = userDocument(await findUserByEither(given, deps()))
      const lines = id ? [document.user_id] : Object.entries(document).map(([name, value]) => `${name}: ${value}`)
      printResult(context, json, document, lines)
    })

  users
    .command('set-password')
    .description('set a new password; ends all sessions and tokens of the user')
    .argument('<user>', 'id or name')
    .requiredOption('--password-stdin', PASSWORD_STDIN)
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { json }: { json?: boolean }) => {
      const { userId } = await findUserByEither(given, deps())
      const password = await readSecret(context.stdin, 'password')
      const user = await setPassword({ userId, password }, authorOf(context), deps())
      const lines = [`Set the password of user ${user.username}`, 'All their sessions and tokens have ended.']
      printResult(context, json, userDocument(user), lines)
    })

  addAccountLinkCommands(users, context)
  const finder = features.find(({ userFinder }) => userFinder !== undefined)?.userFinder
  addUserEndingCommands(users, deps, context, finder)
  return users
}

type CreateOptions = { passwordStdin?: boolean; email?: string; language?: string; json?: boolean }

function addCreateCommand(users: Command, deps: () => UserAdministration, context: CommandDeps): void {
  users
    .command('create')
    .description('create a user; without a password, print an invitation link that is valid for 72 hours')
    .argument('<username>', 'the name to sign in with, 1 to 100 characters')
    .option('--password-stdin', PASSWORD_STDIN)
    .option('--email <address>', 'for invitations and reset links')
    .option(...LANGUAGE_OPTION)
    .option('--json', 'print {"user_id","username"}; without a password also "url", "expires_at", "mailed"')
    .action(async (given: string, { passwordStdin, email, language, json }: CreateOptions) => {
      // First: without ISSUER, or with a wrong language, nothing is created.
      const linkDeps = passwordStdin ? undefined : accountLinkDeps(context)
      if (linkDeps !== undefined) requireLanguage(language, linkDeps)
      const password = passwordStdin ? await readSecret(context.stdin, 'password') : undefined
      const { userId, username } = await createUser({ username: given, password, email }, authorOf(context), deps())
      if (linkDeps !== undefined) {
        const link = await giveAccountLink({ userId, purpose: 'invitation', language }, authorOf(context), linkDeps)
        return printLink(link, 'invitation', json, context)
      }
      const lines = [`Created user ${username}`, `user id: ${userId}`]
      printResult(context, json, { user_id: userId, username }, lines)
    })
}
