import { Readable } from 'node:stream'
import type { Database } from '@valetkey/service-kit'
import { CommanderError } from 'commander'
import type { CommandContext } from '../../src/cli/context.js'
import { CommandFailure, EXIT } from '../../src/cli/exit.js'
import { buildProgram } from '../../src/cli/program.js'

export type CommandResult = { code: number; out: string; said: string }

/** Runs one command of `valetkey` in this process; `stdin` is what is piped into it. */
export async function runCommand(
  database: Database,
  args: readonly string[],
  { stdin = '', databaseUrl = 'postgres://unused' }: { stdin?: string | Buffer; databaseUrl?: string } = {}
): Promise<CommandResult> {
  const [out, said]: [string[], string[]] = [[], []]
  const context: CommandContext = {
    databaseUrl: () => databaseUrl,
    database: () => database,
    stdin: Readable.from([Buffer.from(stdin)]),
    out: (text) => out.push(text),
    say: (text) => said.push(text)
  }
  const ended = (code: number) => ({ code, out: out.join(''), said: said.join('') })
  try {
    await buildProgram(context).parseAsync(['node', 'valetkey', ...args])
    return ended(EXIT.ok)
  } catch (error) {
    if (error instanceof CommanderError) return ended(error.exitCode === 0 ? EXIT.ok : EXIT.usage)
    if (!(error instanceof CommandFailure)) throw error
    said.push(error.message)
    return ended(error.exitCode)
  }
}
