import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  ConfigurationError,
  connectPostgres,
  type Environment,
  examinePostgres,
  type Finding,
  fatal,
  fileChangedAt,
  findingsOfUnreadable,
  isProduction,
  measureClock,
  ok,
  problemOfRedis,
  StoreUnavailable
} from '@valetkey/service-kit'
import { type Config, readConfig } from '../../config.js'
import { loadBranding } from '../../http/branding.js'
import { readIdentityState } from '../../storage/postgres/identity-state.js'
import { readSignInAddresses } from '../../storage/postgres/recent-addresses.js'
import { readApiState, readClientStates, readCredentialStates } from '../../storage/postgres/registry-state.js'
import { connectRedis, type Redis } from '../../storage/redis/redis.js'
import { createRedisProbe } from '../../storage/redis/redis-probe.js'
import { readRedisState } from '../../storage/redis/redis-state.js'
import { evaluateApis } from './evaluate-apis.js'
import { evaluateClients } from './evaluate-clients.js'
import { evaluateCredentials } from './evaluate-credentials.js'
import { evaluateRedis } from './evaluate-redis.js'
import { evaluateSettings } from './evaluate-settings.js'
import { evaluateSignInAddresses } from './evaluate-sign-in-addresses.js'
import { evaluateWays } from './evaluate-ways.js'
import { examineProviders } from './examine-providers.js'

const MIGRATIONS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../migrations')

/** Checks settings, Postgres, Redis and registered records; changes nothing. */
export async function examine(environment: Environment, now = new Date()): Promise<readonly Finding[]> {
  let config: Config
  let providers: Promise<readonly Finding[]>
  try {
    config = readConfig(environment)
    loadBranding(config)
    providers = examineProviders(config.signIn.providers)
  } catch (error) {
    if (error instanceof ConfigurationError) return findingsOfUnreadable(error)
    throw error
  }
  const cookieKeysChangedAt = fileChangedAt(environment, 'COOKIE_KEYS')
  const inProduction = isProduction(config.issuer)
  const [postgres, redis] = await Promise.all([
    examinePostgres(config.databaseUrl, { migrations: MIGRATIONS, isProduction: inProduction, listens: true }),
    examineRedis(config)
  ])
  const isUnreachable = postgres.some(({ check, severity }) => check === 'postgres' && severity === 'fatal')
  const registry = isUnreachable ? [] : await examineRegistry(config, inProduction, now)
  return [
    ...evaluateSettings(config, { cookieKeysChangedAt, now }),
    ...postgres,
    ...redis,
    ...registry,
    ...(await providers)
  ]
}

async function examineRedis(config: Config): Promise<readonly Finding[]> {
  const redis: Redis = connectRedis(config.redisUrl, config.redisCa)
  let failure: unknown
  redis.on('error', (error) => {
    failure = error
  })
  try {
    // The first command waits for the connection, which would distort the clock offset.
    await redis.ping()
    let state = await readRedisState(redis)
    const offset = await measureClock(async () => {
      state = await readRedisState(redis)
      return state.now
    })
    return [...evaluateRedis(state, offset), await evaluateUse(redis)]
  } catch (error) {
    return [unusableRedis('redis', failure ?? error)]
  } finally {
    redis.disconnect()
  }
}

async function evaluateUse(redis: Redis): Promise<Finding> {
  try {
    await createRedisProbe(redis)()
    return ok('redis use', 'supports all commands that the service uses')
  } catch (error) {
    return unusableRedis('redis use', error)
  }
}

function unusableRedis(check: string, error: unknown): Finding {
  const cause = error instanceof StoreUnavailable ? error.cause : error
  const { reason, remedy } = problemOfRedis(cause) ?? {}
  const message = cause instanceof Error ? cause.message : String(cause)
  return fatal(check, {
    what: `${reason ?? 'cannot be reached or used'}: ${message}`,
    why: 'Without it, users cannot sign in or consent, and apps cannot exchange codes.',
    fix: remedy ?? 'check the host, network, user, password and certificate in REDIS_URL and REDIS_CA'
  })
}

/** Findings about registered records; a list that cannot be read is a finding, too. */
async function examineRegistry(config: Config, inProduction: boolean, now: Date): Promise<readonly Finding[]> {
  const { databaseUrl, resourceUrl, trustedProxies } = config
  const database = connectPostgres(databaseUrl, { connections: 1 })
  try {
    return [
      ...(await evaluated('clients', async () => {
        return evaluateClients(await readClientStates(database, now), { isProduction: inProduction, now })
      })),
      ...(await evaluated('credentials', async () => evaluateCredentials(await readCredentialStates(database), now))),
      ...(await evaluated('APIs', async () => evaluateApis(await readApiState(database), resourceUrl))),
      ...(await evaluated('ways to sign in', async () => {
        const ways = configuredWays(config)
        return evaluateWays(await readIdentityState(database, ways.issuers), ways)
      })),
      ...(await evaluated('sign-in addresses', async () =>
        trustedProxies?.length ? [evaluateSignInAddresses(await readSignInAddresses(database), trustedProxies)] : []
      ))
    ]
  } finally {
    await database.close()
  }
}

function configuredWays({ signIn: { local, providers, handoff } }: Config) {
  const page = handoff === undefined ? [] : [handoff.issuer]
  return { local, issuers: [...providers.map(({ issuer }) => issuer), ...page] }
}

async function evaluated(check: string, evaluate: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await evaluate()
  } catch (error) {
    return [
      fatal(check, {
        what: `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        why: 'They were not checked, and the service may not be able to read them either.',
        fix: 'migrate the database, and grant the role its rights'
      })
    ]
  }
}
