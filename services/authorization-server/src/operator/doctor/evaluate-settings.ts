import {
  evaluateInnerUrl,
  evaluateKeys,
  evaluatePostgresUrl,
  evaluateProxies,
  evaluatePublicUrl,
  type Finding,
  fatal,
  graveInProduction,
  isLoopback,
  isProduction,
  ok,
  readRedisUrl,
  warning
} from '@valetkey/service-kit'
import type { Config } from '../../config.js'
import { isEmulated } from '../../storage/redis/emulated-redis.js'

const DAY = 86_400

/** Checks the settings alone. The service refuses to start with a fatal finding. */
export function evaluateSettings(
  config: Config,
  { cookieKeysChangedAt, now }: { cookieKeysChangedAt?: Date | undefined; now: Date }
): readonly Finding[] {
  const inProduction = isProduction(config.issuer)
  return [
    evaluatePublicUrl('ISSUER', config.issuer),
    evaluatePublicUrl('RESOURCE_URL', config.resourceUrl),
    ...evaluateKeys('COOKIE_KEYS', config.cookieKeys, {
      isProduction: inProduction,
      changedAt: cookieKeysChangedAt,
      now
    }),
    ...evaluatePostgresUrl('DATABASE_URL', config.databaseUrl),
    ...(config.databaseDirectUrl === undefined
      ? []
      : evaluatePostgresUrl('DATABASE_DIRECT_URL', config.databaseDirectUrl)),
    ...evaluateRedisUrl(config.redisUrl, inProduction),
    evaluateLimits(config.limitsFactor, inProduction),
    evaluateProxies(config.trustedProxies, { setting: 'ISSUER', url: config.issuer }),
    evaluateLogLevel(config.logLevel),
    ...evaluateLifetimes(config)
  ]
}

function evaluateRedisUrl(url: string, inProduction: boolean): readonly Finding[] {
  if (isEmulated(url)) return [evaluateEmulation(inProduction)]
  const { hosts, tls, password } = readRedisUrl(url)
  const reached = hosts.map(({ host }) => evaluateInnerUrl('REDIS_URL', { host, tls }))
  if (password !== undefined || hosts.every(({ host }) => isLoopback(host))) return reached
  const what = 'has no password'
  const why = 'Anyone who can reach Redis can read codes and reset the rate limits.'
  return [
    ...reached,
    warning('REDIS_URL', { what, why, fix: 'set a password for Redis, or give the service its own user' })
  ]
}

function evaluateEmulation(inProduction: boolean): Finding {
  const what = 'emulated by npm start; sessions and codes are lost when it stops'
  if (!inProduction) return ok('Redis', what)
  return fatal('Redis', {
    what,
    why: 'The emulation is for trying Valetkey out.',
    fix: 'set REDIS_URL to a Redis server'
  })
}

function evaluateLimits(factor: number, inProduction: boolean): Finding {
  if (factor <= 5) return ok('LIMITS_FACTOR', `is ${factor}`)
  const complaint = {
    what: `is ${factor}: ${20 * factor} wrong passwords for one account from one address in 15 minutes`,
    why: 'Rate limits protect against password guessing (OWASP ASVS 6.3.1).',
    fix: 'set it to 5 or less; if many users share one address, set TRUSTED_PROXIES to your proxy'
  }
  return factor >= 100
    ? graveInProduction(inProduction)('LIMITS_FACTOR', complaint)
    : warning('LIMITS_FACTOR', complaint)
}

function evaluateLogLevel(level: string): Finding {
  if (['info', 'debug', 'trace'].includes(level)) return ok('LOG_LEVEL', `is ${level}`)
  const why = 'Audit lines have level info. Without them, a crash loses events that are not in the audit table yet.'
  return warning('LOG_LEVEL', { what: `is ${level}`, why, fix: 'set it to info' })
}

/** RFC 9700 §2.2, §4.14.2; OWASP ASVS 10.4.3, 10.4.8. Codes live less than 30 s with every setting, and refresh tokens rotate. */
function evaluateLifetimes(config: Config): readonly Finding[] {
  const most = [
    ['ACCESS_TOKEN_TTL', config.accessTokenTtl, DAY, 'a stolen access token stays valid that long'],
    [
      'REFRESH_TOKEN_IDLE_TTL',
      config.refreshTokenIdleTtl,
      90 * DAY,
      'a stolen, unused refresh token stays valid that long'
    ],
    ['REFRESH_TOKEN_MAX_TTL', config.refreshTokenMaxTtl, 366 * DAY, 'users are not asked again for that long'],
    [
      'REFRESH_RETRY_WINDOW',
      config.refreshRetryWindow,
      60,
      'a stolen refresh token returns the same token pair that long'
    ]
  ] as const
  return most.map(([check, seconds, limit, why]) =>
    seconds <= limit
      ? ok(check, `is ${seconds} s`)
      : warning(check, { what: `is ${seconds} s`, why: `That is long: ${why}.`, fix: `set it to ${limit} or less` })
  )
}
