import { type Environment, environmentReader } from '@valetkey/service-kit'
import { readAccessChoices } from './access-choices-config.js'
import { readClientMetadataConfig } from './features/client-documents/client-metadata-config.js'
import { readAccountConfig, readSignInConfig } from './sign-in-config.js'

export type Config = ReturnType<typeof readConfig>

/** The environment of this process. Only this file reads `process.env`. */
export const processEnvironment: Environment = process.env

/**
 * The settings of the authorization server, all from environment variables (docs/settings.md lists them).
 * @throws {ConfigurationError} with one line for every missing or malformed variable
 */
export function readConfig(environment: Environment) {
  const read = environmentReader(environment)
  const issuer = read.baseUrl('ISSUER', 'the public base URL of this server, such as https://auth.example.com')
  const config = {
    issuer,
    resourceUrl: readResourceUrl(read),
    publicListen: read.listen('PUBLIC_LISTEN', ':4000'),
    internalListen: read.listen('INTERNAL_LISTEN', ':4001'),
    operatorListen: read.listen('OPERATOR_LISTEN', ':4002'),
    trustedProxies: read.networks('TRUSTED_PROXIES'),
    ...readDatabaseUrls(read),
    redisUrl: read.redisUrl('REDIS_URL', 'the Redis server, redis://host:6379'),
    redisCa: read.optionalText('REDIS_CA', '') || undefined,
    cookieKeys: read.keys('COOKIE_KEYS', 'keys that sign forms and cookies, separated by commas, the newest first'),
    /** Seconds, as all lifetimes. */
    codeTtl: read.integer('CODE_TTL', 20, { min: 1, max: 29 }),
    accessTokenTtl: read.integer('ACCESS_TOKEN_TTL', 3600, { min: 1, max: 30 * DAY }),
    refreshTokenIdleTtl: read.integer('REFRESH_TOKEN_IDLE_TTL', 14 * DAY, { min: 1, max: 3650 * DAY }),
    refreshTokenMaxTtl: readRefreshTokenMaxTtl(read),
    refreshRetryWindow: read.integer('REFRESH_RETRY_WINDOW', 30, { min: 0, max: 300 }),
    /** Days; 0 keeps them for ever. */
    auditRetentionDays: read.integer('AUDIT_RETENTION_DAYS', 365, { min: 0, max: 36_500 }),
    signIn: readSignInConfig(read),
    clientMetadata: readClientMetadataConfig(read, issuer),
    /** Whether users may register apps, and whether an operator approves them. */
    developerApps: read.oneOf('DEVELOPER_APPS', ['off', 'approved', 'open'], 'off'),
    accessChoices: readAccessChoices(read),
    ...readTokenConfig(read),
    limitsFactor: read.factor('LIMITS_FACTOR', 1),
    productName: read.label('PRODUCT_NAME', 'Valetkey'),
    productLogo: read.optionalText('PRODUCT_LOGO', '') || undefined,
    accentColor: read.optionalText('ACCENT_COLOR', '') || undefined,
    pagesDir: read.optionalText('PAGES_DIR', '') || undefined,
    /** Seconds from the stop signal to the end of the listeners. */
    drainDelay: read.integer('DRAIN_DELAY', 0, { min: 0, max: 300 }),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info')
  }
  read.require(
    config.accentColor === undefined || /^#[0-9a-f]{6}$/i.test(config.accentColor),
    'ACCENT_COLOR',
    'must be a colour as #rrggbb, such as #14614a'
  )
  read.require(
    config.redisCa === undefined || !/^redis[:+]/i.test(config.redisUrl),
    'REDIS_CA',
    'has no effect without TLS: begin REDIS_URL with rediss'
  )
  read.require(config.dpop !== 'off' || config.dpopNonces === 'off', 'DPOP_NONCES', 'has no effect with DPOP=off')
  if (config.profile === 'fapi2') requireFapi2(read, config)
  read.finish()
  return Object.freeze(config)
}

/** Which clients this server serves, and how they send requests. */
function readTokenConfig(read: ReturnType<typeof environmentReader>) {
  const profile = read.oneOf('PROFILE', ['none', 'fapi2'], 'none')
  const isFapi2 = profile === 'fapi2'
  return {
    /** All clients, or those under a profile. */
    profile,
    /** Whether tokens are bound to keys of clients that send proofs, and whether every token request must have a proof. */
    dpop: read.oneOf('DPOP', ['off', 'allowed', 'required'], isFapi2 ? 'required' : 'off'),
    /** Whether each proof must have a nonce of this server. */
    dpopNonces: read.oneOf('DPOP_NONCES', ['off', 'required'], 'off'),
    /** Whether clients may, or must, push their authorization requests (RFC 9126). */
    pushedRequests: read.oneOf('PUSHED_REQUESTS', ['off', 'allowed', 'required'], isFapi2 ? 'required' : 'allowed')
  }
}

type Fapi2Settings = {
  dpop: string
  pushedRequests: string
  clientMetadata: { policy: { mode: string } }
}

function requireFapi2(
  read: ReturnType<typeof environmentReader>,
  { dpop, pushedRequests, clientMetadata: { policy } }: Fapi2Settings
): void {
  const because = 'because PROFILE is fapi2'
  read.require(dpop === 'required', 'DPOP', `must be required, ${because}`)
  read.require(pushedRequests === 'required', 'PUSHED_REQUESTS', `must be required, ${because}`)
  read.require(policy.mode === 'off', 'CLIENT_ID_METADATA', `must be off, ${because}`)
}

/** The settings of the command line that every command needs: only the database. @throws {ConfigurationError} */
export function readCommandLineConfig(environment: Environment) {
  const read = environmentReader(environment)
  const { databaseUrl, databaseDirectUrl } = readDatabaseUrls(read)
  read.finish()
  // Commands need a connection of their own, and few of them run.
  return Object.freeze({ databaseUrl: databaseDirectUrl ?? databaseUrl })
}

/** Settings for commands about accounts; the same variables as for the service. @throws {ConfigurationError} */
export function readAccountSettings(environment: Environment) {
  const read = environmentReader(environment)
  const settings = {
    /** Undefined if it is not set: only links need it. */
    issuer: environment.ISSUER || environment.ISSUER_FILE ? read.baseUrl('ISSUER', '') : undefined,
    productName: read.label('PRODUCT_NAME', 'Valetkey'),
    ...readAccountConfig(read)
  }
  read.finish()
  return Object.freeze(settings)
}

/** Settings for the import of refresh tokens; the same variables as for the service. @throws {ConfigurationError} */
export function readTokenImportSettings(environment: Environment) {
  const read = environmentReader(environment)
  const settings = { resourceUrl: readResourceUrl(read), refreshTokenMaxTtl: readRefreshTokenMaxTtl(read) }
  read.finish()
  return Object.freeze(settings)
}

function readResourceUrl(read: ReturnType<typeof environmentReader>): string {
  const meaning = 'the public base URL of the resource server, such as https://files.example.com'
  return read.baseUrl('RESOURCE_URL', meaning)
}

function readRefreshTokenMaxTtl(read: ReturnType<typeof environmentReader>): number {
  return read.integer('REFRESH_TOKEN_MAX_TTL', 90 * DAY, { min: 1, max: 3650 * DAY })
}

function readDatabaseUrls(read: ReturnType<typeof environmentReader>) {
  const databaseUrl = read.postgresUrl('DATABASE_URL', 'the Postgres database, postgres://user:password@host:5432/name')
  return {
    databaseUrl,
    /** Postgres itself, if `databaseUrl` leads to a pooler: for LISTEN, migrations and locks. */
    databaseDirectUrl: read.directPostgresUrl('DATABASE_DIRECT_URL', databaseUrl)
  }
}

const DAY = 86_400
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
