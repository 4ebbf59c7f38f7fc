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
  measureClock
} from '@valetkey/service-kit'
import { type Config, readConfig } from '../config.js'
import { loadBranding } from '../http/branding.js'
import { connectRedis, type Redis } from '../storage/redis.js'
import { readRedisState } from '../storage/redis-state.js'
import { readClientStates, readCredentialStates } from '../storage/registry-state.js'
import { judgeClients } from './judge-clients.js'
import { judgeCredentials } from './judge-credentials.js'
import { judgeRedis } from './judge-redis.js'
import { judgeSettings } from './judge-settings.js'

const MIGRATIONS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../migrations')

/** Looks at everything that a server with these settings would use; changes nothing. */
export async function examine(environment: Environment, now = new Date()): Promise<readonly Finding[]> {
  let config: Config
  try {
    config = readConfig(environment)
    loadBranding(config)
  } catch (error) {
    if (error instanceof ConfigurationError) return findingsOfUnreadable(error)
    throw error
  }
  const cookieKeysChangedAt = fileChangedAt(environment, 'COOKIE_KEYS')
  const inProduction = isProduction(config.issuer)
  const [postgres, redis] = await Promise.all([
    examinePostgres(config.databaseUrl, { migrations: MIGRATIONS, isProduction: inProduction }),
    examineRedis(config)
  ])
  const cannotBeAsked = postgres.some(({ check, severity }) => check === 'postgres' && severity === 'fatal')
  const registry = cannotBeAsked ? [] : await examineRegistry(config, inProduction, now)
  return [...judgeSettings(config, { cookieKeysChangedAt, now }), ...postgres, ...redis, ...registry]
}

async function examineRedis(config: Config): Promise<readonly Finding[]> {
  const redis: Redis = connectRedis(config.redisUrl, config.redisCa)
  let reason = ''
  redis.on('error', (error) => {
    reason = error.message
  })
  try {
    // The first answer waits for the connection; the clock is measured on one that is open.
    await redis.ping()
    let state = await readRedisState(redis)
    const offset = await measureClock(async () => {
      state = await readRedisState(redis)
      return state.now
    })
    return judgeRedis(state, offset)
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    return [
      fatal('redis', {
        what: `cannot be reached or asked: ${reason || cause}`,
        why: 'Nobody can sign in, consent or exchange a code without it.',
        mend: 'look at the host, the network, user and password, and the certificate that REDIS_URL and REDIS_CA name'
      })
    ]
  } finally {
    redis.disconnect()
  }
}

/** What is registered, as far as it can be read. */
async function examineRegistry(config: Config, inProduction: boolean, now: Date): Promise<readonly Finding[]> {
  const database = connectPostgres(config.databaseUrl, { connections: 1 })
  try {
    return [
      ...(await judged('clients', async () => {
        return judgeClients(await readClientStates(database, now), { isProduction: inProduction, now })
      })),
      ...(await judged('credentials', async () => judgeCredentials(await readCredentialStates(database), now)))
    ]
  } finally {
    await database.close()
  }
}

async function judged(check: string, judge: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await judge()
  } catch (error) {
    return [
      fatal(check, {
        what: `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        why: 'They were not looked at; the service may not be able to read them either.',
        mend: 'migrate the database, and give the role its rights'
      })
    ]
  }
}
