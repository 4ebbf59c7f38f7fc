import { freePort } from '../../../../packages/dev-stack/lib/processes/ports.mjs'
import { FEATURES } from '../../src/features.js'
import { startAuthorizationServer } from '../../src/start.js'
import type { TestServer } from './authorization-server.js'
import { isBackground } from './background-statements.js'
import { startCountingProxy } from './counting-proxy.js'
import { readPostgres, readRedis } from './wire-protocols.js'

export type Sent = { sql: readonly string[]; redis: readonly string[] }

/**
 * The authorization server as deployed, on the stores of a test server, with proxies that count statements and commands.
 * The commands of an emulated Redis cannot be counted, so this needs a real one.
 */
export async function startCountedServer(server: TestServer) {
  const { config } = server
  let statements: { statement: string; connection: number }[] = []
  let commands: string[] = []
  // The LISTEN connection sends pulses.
  const listening = new Set<number>()
  const postgres = await startCountingProxy(
    config.databaseUrl,
    readPostgres((sent) => {
      if (sent.statement.startsWith('listen ')) listening.add(sent.connection)
      statements.push(sent)
    })
  )
  const redis = await startCountingProxy(
    config.redisUrl,
    readRedis((command) => commands.push(command))
  )
  const [publicPort, internalPort, operatorPort] = [await freePort(), await freePort(), await freePort()]
  const running = await startAuthorizationServer(
    {
      ISSUER: config.issuer,
      RESOURCE_URL: config.resourceUrl,
      DATABASE_URL: postgres.url,
      DATABASE_DIRECT_URL: config.databaseDirectUrl,
      REDIS_URL: redis.url,
      COOKIE_KEYS: config.cookieKeys.join(','),
      PUBLIC_LISTEN: `127.0.0.1:${publicPort}`,
      INTERNAL_LISTEN: `127.0.0.1:${internalPort}`,
      OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
      // The longest, because some codes wait for others.
      CODE_TTL: '29',
      LOG_LEVEL: 'silent'
    },
    FEATURES
  )

  function sent(): Sent {
    const foreground = statements.filter((each) => !listening.has(each.connection) && !isBackground(each.statement))
    return { sql: foreground.map(({ statement }) => statement), redis: commands }
  }

  return {
    publicUrl: `http://127.0.0.1:${publicPort}`,
    internalUrl: `http://127.0.0.1:${internalPort}`,
    /** Delays the responses of Postgres, except on the LISTEN connection. */
    holdAnswers: () => postgres.hold(listening),
    releaseAnswers: () => postgres.release(),
    /** The statements and commands since `during` began. */
    sent,
    /** The statements and commands during this function. */
    async during(run: () => Promise<unknown>): Promise<Sent> {
      statements = []
      commands = []
      await run()
      return sent()
    },
    async close() {
      await running.close()
      await Promise.all([postgres.close(), redis.close()])
    }
  }
}

export type CountedServer = Awaited<ReturnType<typeof startCountedServer>>
