#!/usr/bin/env node
import { ConfigurationError, connectPostgres, type Database, linesOfFailure } from '@valetkey/service-kit'
import { CommanderError } from 'commander'
import { processEnvironment, readCommandLineConfig } from '../config.js'
import { CommandFailure, EXIT } from './exit.js'
import { buildProgram } from './program.js'

let database: Database | undefined
const program = buildProgram({
  databaseUrl: () => readCommandLineConfig(processEnvironment).databaseUrl,
  // Opened by the first command that needs it, so that --help works without any setting.
  database: () => {
    database ??= connectPostgres(readCommandLineConfig(processEnvironment).databaseUrl, { connections: 2 })
    return database
  },
  stdin: process.stdin,
  out: (text) => process.stdout.write(text),
  say: (text) => process.stderr.write(text)
})

process.exitCode = await run()
await database?.close()

async function run(): Promise<number> {
  try {
    await program.parseAsync(process.argv)
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    for (const line of linesOfFailure(error)) process.stderr.write(`valetkey: ${line}\n`)
    if (error instanceof ConfigurationError) return EXIT.usage
    return error instanceof CommandFailure ? error.exitCode : EXIT.failed
  }
}
