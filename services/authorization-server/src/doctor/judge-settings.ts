import {
  type Finding,
  graveInProduction,
  isLoopback,
  isProduction,
  judgeInnerUrl,
  judgeKeys,
  judgePostgresUrl,
  judgeProxies,
  judgePublicUrl,
  ok,
  readRedisUrl,
  warning
} from '@valetkey/service-kit'
import type { Config } from '../config.js'

const DAY = 86_400

/** What the settings alone tell. A start refuses what is fatal here, and so no production runs with it. */
export function judgeSettings(
  config: Config,
  { cookieKeysChangedAt, now }: { cookieKeysChangedAt?: Date | undefined; now: Date }
): readonly Finding[] {
  const inProduction = isProduction(config.issuer)
  return [
    judgePublicUrl('ISSUER', config.issuer),
    judgePublicUrl('RESOURCE_URL', config.resourceUrl),
    ...judgeKeys('COOKIE_KEYS', config.cookieKeys, { isProduction: inProduction, changedAt: cookieKeysChangedAt, now }),
    ...judgePostgresUrl('DATABASE_URL', config.databaseUrl),
    ...judgeRedisUrl(config.redisUrl),
    judgeLimits(config.limitsFactor, inProduction),
    judgeProxies(config.trustedProxies, { setting: 'ISSUER', url: config.issuer }),
    judgeLogLevel(config.logLevel),
    ...judgeLifetimes(config)
  ]
}

function judgeRedisUrl(url: string): readonly Finding[] {
  const { hosts, tls, password } = readRedisUrl(url)
  const reached = hosts.map(({ host }) => judgeInnerUrl('REDIS_URL', { host, tls }))
  if (password !== undefined || hosts.every(({ host }) => isLoopback(host))) return reached
  const what = 'has no password'
  const why = 'Whoever reaches Redis reads sessions and codes, and takes the limits off.'
  return [...reached, warning('REDIS_URL', { what, why, mend: 'give Redis a password or a user of its own' })]
}

function judgeLimits(factor: number, inProduction: boolean): Finding {
  if (factor <= 5) return ok('LIMITS_FACTOR', `is ${factor}`)
  const complaint = {
    what: `is ${factor}: ${20 * factor} wrong passwords for one account from one address in 15 minutes`,
    why: 'The limits are the brake against guessing (OWASP ASVS 6.3.1).',
    mend: 'set it to 5 or less; for many people behind one address name your proxy in TRUSTED_PROXIES'
  }
  return factor >= 100
    ? graveInProduction(inProduction)('LIMITS_FACTOR', complaint)
    : warning('LIMITS_FACTOR', complaint)
}

function judgeLogLevel(level: string): Finding {
  if (['info', 'debug', 'trace'].includes(level)) return ok('LOG_LEVEL', `is ${level}`)
  const why = 'Audit lines are of level info; a crash can lose those that are not in the table yet.'
  return warning('LOG_LEVEL', { what: `is ${level}`, why, mend: 'set it to info' })
}

/** RFC 9700 §2.2, §4.14.2; OWASP ASVS 10.4.3, 10.4.8. Codes live less than 30 s whatever is set, and refresh tokens rotate. */
function judgeLifetimes(config: Config): readonly Finding[] {
  const most = [
    ['ACCESS_TOKEN_TTL', config.accessTokenTtl, DAY, 'a stolen access token lives as long'],
    [
      'REFRESH_TOKEN_IDLE_TTL',
      config.refreshTokenIdleTtl,
      90 * DAY,
      'a stolen refresh token that nobody uses lives as long'
    ],
    ['REFRESH_TOKEN_MAX_TTL', config.refreshTokenMaxTtl, 366 * DAY, 'nobody is asked again for as long'],
    ['REFRESH_RETRY_WINDOW', config.refreshRetryWindow, 60, 'a stolen refresh token gives the same pair for as long']
  ] as const
  return most.map(([check, seconds, limit, why]) =>
    seconds <= limit
      ? ok(check, `is ${seconds} s`)
      : warning(check, { what: `is ${seconds} s`, why: `It is long: ${why}.`, mend: `set it to ${limit} or less` })
  )
}
