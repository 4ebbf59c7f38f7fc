import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate, printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import type { CommandDeps } from './context.js'

const MIGRATIONS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../migrations')

export function addMigrateCommand(program: Command, context: CommandDeps): void {
  program
    .command('migrate')
    .description('apply the database migrations of this release; safe to repeat, and while the service runs')
    .option('--json', 'print {"applied":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const applied = await migrate(context.databaseUrl(), MIGRATIONS)
      const lines = applied.length === 0 ? ['The database is up to date.'] : applied.map((name) => `applied ${name}`)
      printResult(context, json, { applied }, lines)
    })
}
