import { buildLogger, type Database, type Logger } from '@valetkey/service-kit'
import { buildApp } from '../../src/app.js'
import type { Config } from '../../src/config.js'
import { FEATURES } from '../../src/features.js'
import type { Redis } from '../../src/storage/redis/redis.js'
import { wire } from '../../src/wire/wire.js'
import { connectionsOf, type TestServer } from './authorization-server.js'
import { connectWithoutLimits } from './connect-without-limits.js'
import { atPort } from './failing-network.js'
import { followingClock } from './postgres-clock.js'

type InstanceOptions = {
  config?: Partial<Config>
  /** Wraps the database of the started instance. */
  wrap?: (database: Database) => Database
  /** The logger of a test that reads the log. */
  logger?: Logger
  /** Replaces that of the test server; the caller closes it. */
  redis?: Redis
}

/** The URL that LISTEN uses. */
export const listenUrlOf = ({ databaseUrl, databaseDirectUrl }: Config): string => databaseDirectUrl ?? databaseUrl

/** Settings of an instance whose LISTEN connection uses a port of this machine. */
export function listeningAt(config: Config, port: number): Partial<Config> {
  const url = atPort(listenUrlOf(config), port)
  return config.databaseDirectUrl === undefined ? { databaseUrl: url } : { databaseDirectUrl: url }
}

/** Simulates another process on the stores of a test server. Close it before the server. */
export async function startInstance(server: TestServer, options: InstanceOptions = {}): Promise<TestServer> {
  const config = { ...server.config, ...options.config }
  const connected = followingClock(connectWithoutLimits(config.databaseUrl, connectionsOf(config)))
  // The wrapper is added after the start.
  let reached = server.database
  const database: Database = { query: (statement) => reached.query(statement), close: () => connected.close() }
  const deps = wire(config, database, options.redis ?? server.redis, { features: FEATURES })
  // Housekeeping does the same at the start of a process.
  await deps.buckets.keep(config.accessTokenTtl)
  reached = options.wrap?.(connected) ?? connected
  const app = buildApp({ ...config, logger: options.logger ?? buildLogger('test', config.logLevel) }, deps)
  await Promise.all([app.publicServer.ready(), app.internalServer.ready(), app.operatorServer.ready()])
  return {
    ...server,
    ...app,
    config,
    deps,
    database,
    async close() {
      await Promise.all([app.publicServer.close(), app.internalServer.close(), app.operatorServer.close()])
      await Promise.all([deps.audit, ...deps.closeables].map((each) => each.close()))
      await connected.close()
    }
  }
}
