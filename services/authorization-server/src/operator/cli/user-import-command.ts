import { open } from 'node:fs/promises'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { createUserImportStore } from '../../storage/postgres/user-imports.js'
import { importUsers } from '../use-cases/import-users.js'
import { authorOf, type CommandDeps } from './context.js'
import { CommandFailure } from './exit.js'

const MOST_CHARACTERS = 64 * 1024

export function addUserImportCommand(users: Command, context: CommandDeps): void {
  users
    .command('import')
    .description('create users with identities and password hashes of another system')
    .argument('<file>', 'one JSON object in each line: username, password_hash, identities, display_name, email')
    .option('--dry-run', 'check the file and the database, and change nothing')
    .option('--json', 'print {"created","existing","refused","dry_run"}')
    .action(async (file: string, { dryRun = false, json }: { dryRun?: boolean; json?: boolean }) => {
      const onProblem = (line: number, problem: string) => context.say(`line ${line}: ${problem}\n`)
      const command = { lines: () => linesOf(file), isDryRun: dryRun, onProblem }
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

/** @throws {CommandFailure} if the file cannot be read, or a line is so long that it is no user */
async function* linesOf(file: string): AsyncGenerator<string> {
  const handle = await open(file).catch(() => {
    throw new CommandFailure('usage', `the file ${file} cannot be read`)
  })
  let rest = ''
  let line = 0
  for await (const chunk of handle.createReadStream({ encoding: 'utf8' })) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    line += lines.length
    if (rest.length > MOST_CHARACTERS) throw new CommandFailure('usage', `line ${line + 1} is too long to be a user`)
    yield* lines
  }
  if (rest !== '') yield rest
}
