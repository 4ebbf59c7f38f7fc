import { buildIntrospector } from '@valetkey/fastify-bearer'
import { buildLogger, connectPostgres, type Environment, type Logger, settleWithin } from '@valetkey/service-kit'
import { buildApp } from './app.js'
import { readConfig } from './config.js'
import { createFileStore } from './storage/files.js'

// Together with the drain of the listeners well below the 15 s after which the process ends itself.
const DISCONNECT_LIMIT_MS = 4_000

export type RunningServer = { logger: Logger; close(): Promise<void> }

/**
 * Starts the resource server on its two listeners.
 * @throws {ConfigurationError} when a setting is missing or malformed
 */
export async function startResourceServer(environment: Environment): Promise<RunningServer> {
  const config = readConfig(environment)
  const logger = buildLogger('resource-server', config.logLevel)
  const database = connectPostgres(config.databaseUrl, { connections: 10, plans: 'kept' })
  const introspector = buildIntrospector(config.introspection, logger)
  const files = createFileStore(database)
  const { publicServer, operatorServer } = buildApp(
    { ...config, logger },
    {
      introspector,
      files: { files, pageTokenKeys: config.pageTokenKeys },
      health: {
        postgres: () => files.check(),
        // Not a token, and answered as such: the address is right, and so are our credentials.
        introspection: async () => introspector.introspect('readiness-check', 'readiness-check')
      }
    }
  )

  await publicServer.listen(config.publicListen)
  await operatorServer.listen(config.operatorListen)
  logger.info({ event: 'started', resource: config.resourceUrl }, 'resource server started')
  return {
    logger,
    async close() {
      // Requests first, then the connections under them; a database that does not answer holds up nothing.
      await Promise.all([publicServer.close(), operatorServer.close()])
      await settleWithin(DISCONNECT_LIMIT_MS, [introspector.close(), database.close()])
    }
  }
}
