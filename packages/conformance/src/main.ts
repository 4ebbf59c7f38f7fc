#!/usr/bin/env node
import { runCommand } from './command.js'

// The reader closed the pipe, as `head` does: it did not get the whole report.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(2)
})
// Without this, Node would end with 1, which means that a check failed.
try {
  process.exitCode = await runCommand(process.argv.slice(2), process)
} catch (error) {
  process.stderr.write(`oauth-conformance: internal error: ${(error as Error).stack ?? error}\n`)
  process.exitCode = 2
}
