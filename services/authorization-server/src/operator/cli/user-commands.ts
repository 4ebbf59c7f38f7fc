import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { Feature } from '../../feature.js'
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
import type { UserInvitation } from './user-invitation.js'

const PASSWORD_STDIN = 'read the password from standard input; one trailing line break is dropped'

type ListOptions = { json?: boolean; limit?: number }

/** @returns the group `users` */
export function addUserCommands(
  program: Command,
  context: CommandDeps,
  features: readonly Pick<Feature, 'userFinder' | 'userInvitation'>[]
): Command {
  const users = program.command('users').description('users who sign in')
  const deps = (): UserAdministration => userAdministrationOf(context)

  const invitation = features.find(({ userInvitation }) => userInvitation !== undefined)?.userInvitation
  addCreateCommand(users, deps, context, invitation)

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

  const finder = features.find(({ userFinder }) => userFinder !== undefined)?.userFinder
  addUserEndingCommands(users, deps, context, finder)
  return users
}

type CreateOptions = { passwordStdin?: boolean; email?: string; json?: boolean }

function addCreateCommand(
  users: Command,
  deps: () => UserAdministration,
  context: CommandDeps,
  invitation: UserInvitation | undefined
): void {
  const withoutPassword = (text: string | undefined) => (text === undefined ? '' : `; without a password${text}`)
  const command = users
    .command('create')
    .description(`create a user${withoutPassword(invitation && `, ${invitation.description}`)}`)
    .argument('<username>', 'the name to sign in with, 1 to 100 characters')
    .option('--password-stdin', PASSWORD_STDIN)
    .option('--email <address>', 'for invitations and reset links')
  for (const option of invitation?.options ?? []) command.option(...option)
  command
    .option('--json', `print {"user_id","username"}${withoutPassword(invitation && ` also ${invitation.members}`)}`)
    .action(async (given: string, { passwordStdin, email, json, ...others }: CreateOptions) => {
      // First: if the user could not be invited, nothing is created.
      const invite = passwordStdin ? undefined : invitation?.prepare(others, context)
      const password = passwordStdin ? await readSecret(context.stdin, 'password') : undefined
      const { userId, username } = await createUser({ username: given, password, email }, authorOf(context), deps())
      if (invite !== undefined) return invite(userId, json)
      const lines = [`Created user ${username}`, `user id: ${userId}`]
      printResult(context, json, { user_id: userId, username }, lines)
    })
}
