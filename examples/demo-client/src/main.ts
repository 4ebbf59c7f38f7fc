import { buildApp } from './app.js'
import { type Config, ConfigurationError, readConfig } from './config.js'

const STOP_TIME_LIMIT_MS = 10_000

function configOrExit(): Config {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

const config = configOrExit()
const app = await buildApp(config)

async function stop(signal: NodeJS.Signals): Promise<void> {
  app.log.info({ event: 'stopping', signal }, 'stopping')
  setTimeout(() => process.exit(1), STOP_TIME_LIMIT_MS).unref()
  await app.close()
  process.exit(0)
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)

try {
  await app.listen(config.listen)
} catch (error) {
  app.log.fatal({ event: 'listen_failed', err: error }, 'cannot listen')
  process.stderr.write(`LISTEN: cannot listen: ${error instanceof Error ? error.message : 'unknown error'}\n`)
  process.exit(1)
}
