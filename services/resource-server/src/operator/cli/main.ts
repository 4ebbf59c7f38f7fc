#!/usr/bin/env node
import {
  askAtTerminal,
  ConfigurationError,
  type ConnectedDatabase,
  connectPostgres,
  exitOnClosedPipe,
  LONG_STATEMENT_MS,
  linesOfFailure
} from '@valetkey/service-kit'
import { CommanderError } from 'commander'
import { processEnvironment, readCommandLineConfig } from '../../config.js'
import { CommandFailure, EXIT } from './exit.js'
import { buildProgram } from './program.js'

let database: ConnectedDatabase | undefined
const program = buildProgram({
  environment: () => processEnvironment,
  databaseUrl: () => readCommandLineConfig(processEnvironment).databaseUrl,
  // Opened by the first command that needs it, so that --help works without any setting.
  database: () => {
    database ??= connectPostgres(readCommandLineConfig(processEnvironment).databaseUrl, {
      connections: 1,
      statementMs: LONG_STATEMENT_MS,
      // Longer than for a request, whose caller needs a response soon: a command waits for a busy database.
      connectMs: LONG_STATEMENT_MS
    })
    return database
  },
  out: (text) => process.stdout.write(text),
  say: (text) => process.stderr.write(text),
  isTerminal: process.stderr.isTTY === true,
  columns: () => process.stderr.columns ?? 80,
  confirm: process.stdin.isTTY === true && process.stderr.isTTY === true ? confirm : undefined,
  untilInterrupted: () => {
    const interruption = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort())
    return interruption.signal
  }
})

exitOnClosedPipe(process.stdout, EXIT.failed)
process.exitCode = await run()
await database?.close()

async function run(): Promise<number> {
  try {
    await program.parseAsync(process.argv)
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    for (const line of linesOfFailure(error)) process.stderr.write(`valetkey-files: ${line}\n`)
    if (error instanceof ConfigurationError) return EXIT.usage
    return error instanceof CommandFailure ? error.exitCode : EXIT.failed
  }
}

async function confirm(question: string): Promise<boolean> {
  const answer = await askAtTerminal(question)
  if (answer === 'interrupted') throw new CommandFailure('interrupted', 'interrupted; nothing was removed')
  return answer === 'yes'
}
