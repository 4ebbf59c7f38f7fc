import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { readAccountSettings } from '../../config.js'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { linesOf } from '../../operator/cli/lines-of.js'
import { importUsers } from './import-users.js'
import { createUserImportStore } from './user-import-store.js'

/** docs/bring-your-users.md#import has more about the members. */
const EXAMPLE = `
Example of a file:
  {"username":"alice","password_hash":"$2b$12$saltsaltsaltsaltsaltsuhashhashhashhashhashhashhashhae"}
  {"username":"bob","identities":[{"issuer":"https://idp.example","subject":"u-1002"}]}
  {"username":"carol","display_name":"Carol C.","email":"carol@example.com"}
`

type ImportOptions = { dryRun?: boolean; skipInvalid?: boolean; json?: boolean }

export function addUserImportCommand(users: Command, context: CommandDeps): void {
  users
    .command('import')
    .description('create users with identities and password hashes of another system')
    .argument('<file>', 'UTF-8, one JSON object in each line; only username is required')
    .option('--dry-run', 'check the file and the database, and change nothing')
    .option('--skip-invalid', 'create the users of the other lines if some lines have mistakes')
    .option('--json', 'print {"created","existing","refused","dry_run"}')
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, { dryRun = false, skipInvalid = false, json }: ImportOptions) => {
      const onProblem = (line: number, problem: string) => context.say(`line ${line}: ${problem}\n`)
      const { passwordMemory } = readAccountSettings(context.environment())
      const command = {
        lines: () => linesOf(file, 'user'),
        isDryRun: dryRun,
        skipsInvalid: skipInvalid,
        passwordMemory,
        onProblem
      }
      const deps = { imports: createUserImportStore(context.database()) }
      const counts = await importUsers(command, authorOf(context), deps)
      const { created, existing, refused } = counts
      const lines = [
        `${dryRun ? 'Would create' : 'Created'} ${created} users`,
        `${existing} existed before and were not changed`,
        ...(refused > 0 ? [`${refused} were refused`] : [])
      ]
      printResult(context, json, { ...counts, dry_run: dryRun }, lines)
      if (refused > 0) throw new CommandFailure('conflict', `${refused} users were not created`)
    })
}
