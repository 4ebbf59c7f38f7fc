import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import {
  deleteUser,
  disableUser,
  enableUser,
  findUserByEither,
  type UserAdministration,
  userDocument
} from '../use-cases/administer-users.js'
import { authorOf, type CommandDeps } from './command-deps.js'
import { requireConfirmation } from './confirm.js'
import type { UserFinder } from './user-finder.js'

type Options = { yes?: boolean; json?: boolean }

/** @param finder adds options to `users disable`; undefined: only an argument names the user */
export function addUserEndingCommands(
  users: Command,
  deps: () => UserAdministration,
  context: CommandDeps,
  finder: UserFinder | undefined
): void {
  addDisableCommand(users, deps, context, finder)

  users
    .command('enable')
    .description('let a disabled user sign in again; ended sessions and tokens stay ended')
    .argument('<user>', 'id or name')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { json }: Options) => {
      const { userId, username } = await findUserByEither(given, deps())
      const user = await enableUser(userId, authorOf(context), deps())
      printResult(context, json, userDocument(user), [`Enabled user ${username}`])
    })

  users
    .command('delete')
    .description('delete a user permanently; ends all their sessions and tokens')
    .argument('<user>', 'id or name')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { yes, json }: Options) => {
      const { userId, username } = await findUserByEither(given, deps())
      await requireConfirmation(`Delete user ${username} (${userId}) permanently?`, yes, context)
      const user = await deleteUser(userId, authorOf(context), deps())
      const files = `The resource server keeps their file records. To remove them: valetkey-files delete --owner ${userId}`
      printResult(context, json, userDocument(user), [`Deleted user ${username}`, files])
    })
}

function addDisableCommand(
  users: Command,
  deps: () => UserAdministration,
  context: CommandDeps,
  finder: UserFinder | undefined
): void {
  const command = users
    .command('disable')
    .description('block sign-in for a user; ends all their sessions and tokens')
    .argument(finder === undefined ? '<user>' : '[user]', 'id or name')
  for (const option of finder?.options ?? []) command.option(...option)
  const find: UserFinder['find'] = finder?.find ?? ((argument = '') => findUserByEither(argument, deps()))
  command
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"user_id",…}')
    .action(async (argument: string | undefined, { yes, json, ...others }: Options) => {
      const { userId, username } = await find(argument, others, context)
      await requireConfirmation(`Disable user ${username} and end all their sessions and tokens?`, yes, context)
      const user = await disableUser(userId, authorOf(context), deps())
      printResult(context, json, userDocument(user), [`Disabled user ${username}`])
    })
}
