import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { readTokenImportSettings } from '../../config.js'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { linesOf } from '../../operator/cli/lines-of.js'
import { type ImportedCounts, importTokens } from './import-tokens.js'
import { createTokenImportStore } from './token-import-store.js'

/** docs/features/token-import.md has more about the members. */
const EXAMPLE = `
Example of a file:
  {"refresh_token_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","client_id":"photo-printer","user":"alice","scope":"files.read","created_at":"2026-11-01T09:30:00Z","expires_at":"2027-02-01T00:00:00Z"}
  {"consent":true,"client_id":"photo-printer","user":"alice","scope":"files.read","created_at":"2026-11-01T09:30:00Z"}

It needs RESOURCE_URL, and REFRESH_TOKEN_MAX_TTL if the service has it.
`

type ImportOptions = { dryRun?: boolean; skipInvalid?: boolean; json?: boolean }

/** `tokens import` */
export function addTokenImportCommand(tokens: Command, context: CommandDeps): void {
  tokens
    .command('import')
    .description(
      'keep refresh tokens and consents of another server, so that apps go on without a sign-in; safe to repeat'
    )
    .argument('<file>', 'UTF-8, one JSON object in each line')
    .option('--dry-run', 'check the file and the database, and change nothing')
    .option('--skip-invalid', 'import the other lines if some lines have mistakes')
    .option('--json', 'print {"tokens","consents","existing","refused","scopes_left_out","dry_run"}')
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, { dryRun = false, skipInvalid = false, json }: ImportOptions) => {
      const settings = readTokenImportSettings(context.environment())
      const run = {
        lines: () => linesOf(file, 'token'),
        isDryRun: dryRun,
        skipsInvalid: skipInvalid,
        defaultAudience: settings.resourceUrl,
        onProblem: (line: number, problem: string) => context.say(`line ${line}: ${problem}\n`)
      }
      const imports = createTokenImportStore(context.database(), settings)
      const counts = await importTokens(run, authorOf(context), { imports, now: () => new Date() })
      const { scopesLeftOut, ...others } = counts
      const document = { ...others, scopes_left_out: Object.fromEntries(scopesLeftOut), dry_run: dryRun }
      printResult(context, json, document, summaryOf(counts, dryRun))
      if (counts.refused > 0) throw new CommandFailure('conflict', `${counts.refused} lines were not imported`)
    })
}

function summaryOf(
  { tokens, consents, existing, refused, scopesLeftOut }: ImportedCounts,
  isDryRun: boolean
): string[] {
  return [
    `${isDryRun ? 'Would import' : 'Imported'} ${tokens} refresh tokens and ${consents} consents`,
    `${existing} were imported before, or decided here, and were not changed`,
    ...(refused > 0 ? [`${refused} lines were refused`] : []),
    ...[...scopesLeftOut].map(([name, lines]) => `The scope ${name} was left out of ${lines} lines`)
  ]
}
