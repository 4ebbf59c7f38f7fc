import { type Environment, environmentReader } from '@valetkey/service-kit'

export type Config = ReturnType<typeof readConfig>

/** The environment of this process. No other file reads it. */
export const processEnvironment: Environment = process.env

/**
 * The settings of the resource server, all from environment variables (docs/settings.md lists them).
 * @throws {ConfigurationError} with one line for every missing or malformed variable
 */
export function readConfig(environment: Environment) {
  const read = environmentReader(environment)
  const introspectionCacheTtl = read.integer('INTROSPECTION_CACHE_TTL', 0, { min: 0, max: 86_400 })
  const revocationsUrl = read.optionalUrl('REVOCATIONS_URL', HTTP)
  const config = {
    issuer: read.baseUrl('ISSUER', 'the public base URL of the authorization server, such as https://auth.example.com'),
    resourceUrl: read.baseUrl('RESOURCE_URL', 'the public base URL of this server, such as https://files.example.com'),
    publicListen: read.listen('PUBLIC_LISTEN', ':4100'),
    operatorListen: read.listen('OPERATOR_LISTEN', ':4101'),
    trustedProxies: read.networks('TRUSTED_PROXIES'),
    ...readDatabaseUrls(read),
    pageTokenKeys: read.keys('PAGE_TOKEN_KEYS', 'keys that sign page tokens, separated by commas, the newest first'),
    introspection: {
      ...readIntrospectionUrls(read),
      clientId: read.text('INTROSPECTION_CLIENT_ID', 'the id from "valetkey resource-servers create"'),
      clientSecret: read.text('INTROSPECTION_CLIENT_SECRET', 'the secret from "valetkey resource-servers create"'),
      // 0: introspection at every request.
      cache: { seconds: introspectionCacheTtl, ...(revocationsUrl && { revocationsUrl }) }
    },
    /** Whether tokens that are bound to a key are accepted with a proof, or only these (RFC 9449). */
    dpop: read.oneOf('DPOP', ['off', 'allowed', 'required'], 'off'),
    /** Whether each proof must have a nonce of this server. */
    dpopNonces: read.oneOf('DPOP_NONCES', ['off', 'required'], 'off'),
    /** Seconds from the stop signal to the end of the listeners. */
    drainDelay: read.integer('DRAIN_DELAY', 0, { min: 0, max: 300 }),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info')
  }
  const isFeedKnown = introspectionCacheTtl === 0 || revocationsUrl !== undefined
  read.require(isFeedKnown, 'REVOCATIONS_URL', 'is missing: a token cache needs the revocation feed')
  read.require(config.dpop !== 'off' || config.dpopNonces === 'off', 'DPOP_NONCES', 'has no effect with DPOP=off')
  read.finish()
  return Object.freeze(config)
}

/** The settings of the command line: only the database. @throws {ConfigurationError} */
export function readCommandLineConfig(environment: Environment) {
  const read = environmentReader(environment)
  const { databaseUrl, databaseDirectUrl } = readDatabaseUrls(read)
  read.finish()
  // Commands need a connection of their own, and few of them run.
  return Object.freeze({ databaseUrl: databaseDirectUrl ?? databaseUrl })
}

/** Valetkey's authorization server has a second endpoint, for several tokens, next to the first. */
function readIntrospectionUrls(read: ReturnType<typeof environmentReader>) {
  const meaning = 'the introspection endpoint, such as http://auth:4001/introspect'
  const url = read.url('INTROSPECTION_URL', HTTP, meaning)
  return URL.canParse(url) ? { url, severalUrl: new URL('introspections', url).href } : { url }
}

function readDatabaseUrls(read: ReturnType<typeof environmentReader>) {
  const meaning = 'the Postgres database, postgres://user:password@host:5432/name'
  const databaseUrl = read.postgresUrl('RESOURCE_DATABASE_URL', meaning)
  return {
    databaseUrl,
    /** Postgres itself, if `databaseUrl` leads to a pooler: for migrations and locks. */
    databaseDirectUrl: read.directPostgresUrl('RESOURCE_DATABASE_DIRECT_URL', databaseUrl)
  }
}

const HTTP = ['http:', 'https:']
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
