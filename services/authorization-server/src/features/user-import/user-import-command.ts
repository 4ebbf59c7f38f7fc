import { open } from 'node:fs/promises'
import { decodeText, printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { readAccountSettings } from '../../config.js'
import { authorOf, type CommandDeps } from '../../operator/cli/command-deps.js'
import { CommandFailure } from '../../operator/cli/exit.js'
import { importUsers } from './import-users.js'
import { createUserImportStore } from './user-import-store.js'

/** docs/bring-your-users.md#import has more about the members. */
const EXAMPLE = `
Example of a file:
  {"username":"alice","password_hash":"$2b$12$saltsaltsaltsaltsaltsuhashhashhashhashhashhashhashhae"}
  {"username":"bob","identities":[{"issuer":"https://idp.example","subject":"u-1002"}]}
  {"username":"carol","display_name":"Carol C.","email":"carol@example.com"}
`

const MOST_CHARACTERS = 64 * 1024

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
        lines: () => linesOf(file),
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

/** @throws {CommandFailure} if the file cannot be read or is not UTF-8, or a line is so long that it is no user */
async function* linesOf(file: string): AsyncGenerator<string> {
  const handle = await open(file).catch(() => {
    throw new CommandFailure('usage', `the file ${file} cannot be read`)
  })
  // Drops a byte order mark. Other encodings are refused, because they would change names.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes?: Uint8Array): string => {
    try {
      // In UTF-16, Latin letters have bytes that are zero.
      if (!bytes?.includes(0)) return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      // The bytes are examined below.
    }
    const decoded = decodeText(bytes ?? Uint8Array.of())
    const problem = 'problem' in decoded ? decoded.problem : 'is not UTF-8: a character is not complete'
    throw new CommandFailure('usage', `the file ${file}, after line ${line}, ${problem}`)
  }
  let rest = ''
  let line = 0
  for await (const chunk of handle.createReadStream()) {
    const lines = `${rest}${decode(chunk)}`.split('\n')
    rest = lines.pop() ?? ''
    line += lines.length
    if (rest.length > MOST_CHARACTERS) throw new CommandFailure('usage', `line ${line + 1} is too long to be a user`)
    yield* lines
  }
  rest += decode()
  if (rest !== '') yield rest
}
