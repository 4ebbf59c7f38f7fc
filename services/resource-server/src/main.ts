import { ConfigurationError, runUntilSignal } from '@valetkey/service-kit'
import { processEnvironment } from './config.js'
import { startResourceServer } from './start.js'

try {
  const server = await startResourceServer(processEnvironment)
  runUntilSignal(() => server.close(), server.logger, server.drainDelay)
} catch (error) {
  const lines = error instanceof ConfigurationError ? error.problems : [`could not start: ${String(error)}`]
  for (const line of lines) process.stderr.write(`${line}\n`)
  process.exit(1)
}
