import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { findUserByIdentity } from '../../features/foreign-sign-in/identities/administer-identities.js'
import { ISSUER_OPTION, SUBJECT_OPTION } from '../../features/foreign-sign-in/identities/identity-commands.js'
import { createIdentityStore, type IdentityKey } from '../../features/foreign-sign-in/identities/identity-store.js'
import type { User } from '../../storage/postgres/users.js'
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
import { CommandFailure } from './exit.js'

type Options = { yes?: boolean; json?: boolean }

export function addUserEndingCommands(users: Command, deps: () => UserAdministration, context: CommandDeps): void {
  users
    .command('disable')
    .description('block sign-in for a user; ends all their sessions and tokens')
    .argument('[user]', 'id or name')
    .option(...ISSUER_OPTION)
    .option(...SUBJECT_OPTION)
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"user_id",…}')
    .action(async (given: string | undefined, { yes, json, ...identity }: Options & Partial<IdentityKey>) => {
      const { userId, username } = await findNamed(given, identity, deps(), context)
      await requireConfirmation(`Disable user ${username} and end all their sessions and tokens?`, yes, context)
      const user = await disableUser(userId, authorOf(context), deps())
      printResult(context, json, userDocument(user), [`Disabled user ${username}`])
    })

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

/** The user of an argument, or of an identity for scripts that know users by their provider only. */
async function findNamed(
  given: string | undefined,
  { issuer, subject }: Partial<IdentityKey>,
  deps: UserAdministration,
  context: CommandDeps
): Promise<User> {
  if (given !== undefined && issuer === undefined && subject === undefined) return findUserByEither(given, deps)
  if (given !== undefined || issuer === undefined || subject === undefined) {
    throw new CommandFailure('usage', 'pass either a user, or both --issuer and --subject')
  }
  return findUserByIdentity({ issuer, subject }, { identities: createIdentityStore(context.database()) })
}
