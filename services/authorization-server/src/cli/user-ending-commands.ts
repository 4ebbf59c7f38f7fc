import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import {
  deleteUser,
  disableUser,
  enableUser,
  findUserByEither,
  type UserAdministration,
  userDocument
} from '../administration/administer-users.js'
import { requireConfirmation } from './confirm.js'
import { authorOf, type CommandContext } from './context.js'

type Options = { yes?: boolean; json?: boolean }

export function addUserEndingCommands(users: Command, deps: () => UserAdministration, context: CommandContext): void {
  users
    .command('disable')
    .description('let nobody sign in as a user; all of their sessions and tokens end')
    .argument('<user>', 'id or name')
    .option('--yes', 'disable without asking')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { yes, json }: Options) => {
      const { userId, username } = await findUserByEither(given, deps())
      await requireConfirmation(`Disable ${username}, and end all of their sessions and tokens?`, yes, context)
      const user = await disableUser(userId, authorOf(context), deps())
      printResult(context, json, userDocument(user), [`disabled user ${username}`])
    })

  users
    .command('enable')
    .description('let a disabled user sign in again; what had ended stays ended')
    .argument('<user>', 'id or name')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { json }: Options) => {
      const { userId, username } = await findUserByEither(given, deps())
      const user = await enableUser(userId, authorOf(context), deps())
      printResult(context, json, userDocument(user), [`enabled user ${username}`])
    })

  users
    .command('delete')
    .description('delete a user for good; all of their sessions and tokens end')
    .argument('<user>', 'id or name')
    .option('--yes', 'delete without asking')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string, { yes, json }: Options) => {
      const { userId, username } = await findUserByEither(given, deps())
      await requireConfirmation(`Delete ${username} (${userId}) for good?`, yes, context)
      const user = await deleteUser(userId, authorOf(context), deps())
      const files = `Files stay in the books of the resource server: valetkey-files delete --owner ${userId}`
      printResult(context, json, userDocument(user), [`deleted user ${username}`, files])
    })
}
