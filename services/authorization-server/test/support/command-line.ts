import { Readable } from 'node:stream'
import type { Database, Environment } from '@valetkey/service-kit'
import { CommanderError } from 'commander'
import { FEATURES } from '../../src/features.js'
import type { CommandDeps } from '../../src/operator/cli/command-deps.js'
import { CommandFailure, EXIT, exitCodeOf } from '../../src/operator/cli/exit.js'
import { buildProgram } from '../../src/operator/cli/program.js'
import { AdministrationError } from '../../src/operator/use-cases/administration-error.js'

/** The operator of commands in tests. */
export const OPERATOR = 'olivia'

type Surroundings = {
  stdin?: string | Buffer
  databaseUrl?: string
  /** Settings beside the database. */
  environment?: Environment
  /** The reply at the terminal; undefined: no terminal. */
  answer?: boolean
}

export type CommandResult = { code: number; out: string; said: string }

/** Runs one command of `valetkey` in this process with this standard input. */
export async function runCommand(
  database: Database,
  args: readonly string[],
  { stdin = '', databaseUrl = 'postgres://unused', environment = {}, answer }: Surroundings = {}
): Promise<CommandResult> {
  const [out, said]: [string[], string[]] = [[], []]
  const context: CommandDeps = {
    environment: () => environment,
    databaseUrl: () => databaseUrl,
    database: () => database,
    stdin: Readable.from([Buffer.from(stdin)]),
    out: (text) => out.push(text),
    say: (text) => said.push(text),
    userName: () => OPERATOR,
    confirm:
      answer === undefined
        ? undefined
        : async (question) => {
            said.push(`${question}\n`)
            return answer
          }
  }
  const ended = (code: number) => ({ code, out: out.join(''), said: said.join('') })
  try {
    await buildProgram(context, FEATURES).parseAsync(['node', 'valetkey', ...args])
    return ended(EXIT.ok)
  } catch (error) {
    if (error instanceof CommandFailure || error instanceof AdministrationError) said.push(error.message)
    else if (!(error instanceof CommanderError)) throw error
    return ended(exitCodeOf(error))
  }
}
