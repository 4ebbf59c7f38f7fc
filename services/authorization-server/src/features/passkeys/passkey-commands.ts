import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { requireConfirmation } from '../../operator/cli/confirm.js'
import { userAdministrationOf } from '../../operator/cli/user-administration.js'
import { findUserByEither } from '../../operator/use-cases/administer-users.js'
import { listPasskeys, passkeyDocument, removePasskeys } from './administer-passkeys.js'
import { createPasskeyStore } from './passkey-store.js'

export function addPasskeyCommands(users: Command, context: CommandDeps): void {
  const deps = () => userAdministrationOf(context)
  const passkeyDeps = () => ({ passkeys: createPasskeyStore(context.database()), users: deps().users })

  users
    .command('passkeys')
    .description('list the passkeys of a user')
    .argument('<user>', 'id or name')
    .option('--json', 'print {"passkeys":[…]}')
    .action(async (given: string, { json }: { json?: boolean }) => {
      const { userId, username } = await findUserByEither(given, deps())
      const found = await listPasskeys(userId, passkeyDeps())
      const none = [`User ${username} has no passkeys.`]
      const lines = found.map(({ name, createdAt }) => `${createdAt.toISOString()}  ${name}`)
      printResult(context, json, { passkeys: found.map(passkeyDocument) }, found.length === 0 ? none : lines)
    })

  users
    .command('remove-passkeys')
    .description('remove all passkeys of a user; ends all their sessions, not the access of apps')
    .argument('<user>', 'id or name')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"user_id","removed"}')
    .action(async (given: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      const { userId, username } = await findUserByEither(given, deps())
      await requireConfirmation(`Remove all passkeys of user ${username} and end all their sessions?`, yes, context)
      const removed = await removePasskeys(userId, authorOf(context), passkeyDeps())
      printResult(context, json, { user_id: userId, removed }, [`Removed ${removed} passkeys of user ${username}`])
    })
}
