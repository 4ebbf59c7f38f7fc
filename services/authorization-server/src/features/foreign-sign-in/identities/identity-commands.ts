import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { authorOf, type CommandDeps } from '../../../operator/cli/command-deps.js'
import { requireConfirmation } from '../../../operator/cli/confirm.js'
import { table } from '../../../operator/cli/table.js'
import { findUserByEither } from '../../../operator/use-cases/administer-users.js'
import { createUserStore } from '../../../storage/postgres/users.js'
import {
  type IdentityAdministration,
  identityDocument,
  linkIdentity,
  listIdentities,
  unlinkIdentity
} from './administer-identities.js'
import { createIdentityStore, type IdentityKey } from './identity-store.js'

type Options = IdentityKey & { yes?: boolean; json?: boolean }

const USER = 'id or name'
export const ISSUER_OPTION = [
  '--issuer <issuer>',
  'issuer of the provider or login page, exactly as configured'
] as const
export const SUBJECT_OPTION = ['--subject <subject>', 'the sub of the user there, never an e-mail address'] as const

/** `users identities`, `users link` and `users unlink`. */
export function addIdentityCommands(users: Command, context: CommandDeps): void {
  const stores = () => createUserStore(context.database())
  const deps = (): IdentityAdministration => ({ identities: createIdentityStore(context.database()), users: stores() })

  users
    .command('identities')
    .description('list the identities at providers and login pages that sign in as a user')
    .argument('<user>', USER)
    .option('--json', 'print {"identities":[…]}')
    .action(async (given: string, { json }: { json?: boolean }) => {
      const { userId, username } = await findUserByEither(given, { users: stores() })
      const found = await listIdentities(userId, deps())
      const rows = found.map((each) => [each.issuer, each.subject, each.lastUsedAt?.toISOString() ?? 'never'])
      const lines =
        rows.length === 0 ? [`User ${username} has no identities.`] : table(['ISSUER', 'SUBJECT', 'LAST USED'], rows)
      printResult(context, json, { identities: found.map(identityDocument) }, lines)
    })

  users
    .command('link')
    .description('let an identity at a provider or login page sign in as a user')
    .argument('<user>', USER)
    .requiredOption(...ISSUER_OPTION)
    .requiredOption(...SUBJECT_OPTION)
    .option('--json', 'print {"issuer","subject","user_id",…}')
    .action(async (given: string, { issuer, subject, json }: Options) => {
      const { userId, username } = await findUserByEither(given, { users: stores() })
      const identity = await linkIdentity(userId, { issuer, subject }, authorOf(context), deps())
      printResult(context, json, identityDocument(identity), [`Linked ${subject} at ${issuer} to user ${username}`])
    })

  users
    .command('unlink')
    .description('unlink an identity; ends all sessions of the user')
    .argument('<user>', USER)
    .requiredOption(...ISSUER_OPTION)
    .requiredOption(...SUBJECT_OPTION)
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print {"issuer","subject","user_id",…}')
    .action(async (given: string, { issuer, subject, yes, json }: Options) => {
      const { userId, username } = await findUserByEither(given, { users: stores() })
      await requireConfirmation(
        `Unlink ${subject} at ${issuer} from user ${username}, and end their sessions?`,
        yes,
        context
      )
      const identity = await unlinkIdentity(userId, { issuer, subject }, authorOf(context), deps())
      printResult(context, json, identityDocument(identity), [`Unlinked ${subject} at ${issuer} from user ${username}`])
    })
}
