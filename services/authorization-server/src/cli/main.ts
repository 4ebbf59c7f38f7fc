#!/usr/bin/env node
import { ConfigurationError, connectPostgres, type Database } from '@valetkey/service-kit'
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
    const lines = error instanceof ConfigurationError ? error.problems : [explain(error)]
    for (const line of lines) process.stderr.write(`valetkey: ${line}\n`)
    if (error instanceof ConfigurationError) return EXIT.usage
    return error instanceof CommandFailure ? error.exitCode : EXIT.failed
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error && error.cause.message !== '' ? ` (${error.cause.message})` : ''
  return `${error.message}${cause}`
}
