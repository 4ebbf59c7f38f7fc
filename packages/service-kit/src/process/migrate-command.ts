import { migrate } from '../postgres/migrate.js'
import { printResult } from './command-line.js'

/** A program as commander describes it. */
type Program = { command: (name: string) => NewCommand }

type NewCommand = {
  description: (text: string) => NewCommand
  option: (flags: string, text: string) => NewCommand
  action: (run: (options: { json?: boolean }) => Promise<void>) => unknown
}

/**
 * @param directory of the service's migrations
 * @param deps.afterwards what the migrations cannot do in SQL; safe to repeat
 */
export function addMigrateCommand(
  program: Program,
  directory: string,
  deps: { databaseUrl: () => string; out: (text: string) => void; afterwards?: () => Promise<void> }
): void {
  program
    .command('migrate')
    .description('apply the database migrations of this release; safe to repeat, and while the service runs')
    .option('--json', 'print {"applied":[…]}')
    .action(async ({ json }) => {
      const applied = await migrate(deps.databaseUrl(), directory)
      await deps.afterwards?.()
      const lines = applied.length === 0 ? ['The database is up to date.'] : applied.map((name) => `applied ${name}`)
      printResult(deps, json, { applied }, lines)
    })
}
