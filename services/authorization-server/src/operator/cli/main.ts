#!/usr/bin/env node
import { userInfo } from 'node:os'
import {
  askAtTerminal,
  connectPostgres,
  type Database,
  exitOnClosedPipe,
  LONG_STATEMENT_MS,
  linesOfFailure
} from '@valetkey/service-kit'
import { CommanderError } from 'commander'
import { processEnvironment, readCommandLineConfig } from '../../config.js'
import { FEATURES } from '../../features.js'
import type { CommandDeps } from './command-deps.js'
import { CommandFailure, EXIT, exitCodeOf } from './exit.js'
import { buildProgram } from './program.js'

let database: Database | undefined
const context: CommandDeps = {
  environment: () => processEnvironment,
  databaseUrl: () => readCommandLineConfig(processEnvironment).databaseUrl,
  // Opened by the first command that needs it, so that --help works without any setting.
  database: () => {
    database ??= connectPostgres(readCommandLineConfig(processEnvironment).databaseUrl, {
      connections: 2,
      statementMs: LONG_STATEMENT_MS,
      // Longer than for a request, whose caller needs a response soon: a command waits for a busy database.
      connectMs: LONG_STATEMENT_MS
    })
    return database
  },
  stdin: process.stdin,
  out: (text) => process.stdout.write(text),
  say: (text) => process.stderr.write(text),
  userName,
  confirm: process.stdin.isTTY === true && process.stderr.isTTY === true ? confirm : undefined
}
const program = buildProgram(context, FEATURES)

exitOnClosedPipe(process.stdout, EXIT.failed)
process.exitCode = await run()
await database?.close()

async function run(): Promise<number> {
  try {
    // Node puts this character in the place of bytes that are no UTF-8.
    if (process.argv.some((argument) => argument.includes('\ufffd'))) {
      throw new CommandFailure('usage', 'an argument is not UTF-8: use a terminal with this encoding')
    }
    await program.parseAsync(process.argv)
    return EXIT.ok
  } catch (error) {
    // Commander has already printed its message.
    if (!(error instanceof CommanderError)) {
      for (const line of linesOfFailure(error)) process.stderr.write(`valetkey: ${line}\n`)
    }
    return exitCodeOf(error)
  }
}

/** In many containers the user id has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

async function confirm(question: string): Promise<boolean> {
  const answer = await askAtTerminal(question)
  if (answer === 'interrupted') throw new CommandFailure('interrupted', 'interrupted; nothing was changed')
  return answer === 'yes'
}
