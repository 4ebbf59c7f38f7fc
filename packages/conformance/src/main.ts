#!/usr/bin/env node
import { runCommand } from './command.js'

// Without this, Node would end with 1, which means that a check failed.
try {
  process.exitCode = await runCommand(process.argv.slice(2), process)
} catch (error) {
  process.stderr.write(`oauth-conformance: internal error: ${(error as Error).stack ?? error}\n`)
  process.exitCode = 2
}
