import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { requireConfirmation } from '../../operator/cli/confirm.js'
import { userDocument } from '../../operator/use-cases/administer-users.js'
import { createUserStore } from '../../storage/postgres/users.js'
import { userFinder } from '../foreign-sign-in/identities/find-user-by-options.js'
import { endUserAccess } from './end-user-access.js'
import { createUserAccessStore } from './user-access-store.js'

/** `users sign-out-everywhere` */
export function addSignOutCommand(users: Command, context: CommandDeps): void {
  const command = users
    .command('sign-out-everywhere')
    .description('end all sessions and tokens of a user, who may sign in again; safe to repeat')
    .argument('[user]', 'id or name')
  for (const option of userFinder.options) command.option(...option)
  command
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"user_id",…}')
    .action(async (argument: string | undefined, { yes, json, ...others }: { yes?: boolean; json?: boolean }) => {
      const { userId, username } = await userFinder.find(argument, others, context)
      await requireConfirmation(`End all sessions and tokens of user ${username}?`, yes, context)
      const database = context.database()
      const deps = { users: createUserStore(database), userAccess: createUserAccessStore(database) }
      const user = await endUserAccess(userId, authorOf(context), deps)
      printResult(context, json, userDocument(user), [`Ended all sessions and tokens of user ${username}`])
    })
}
