// The environment of each process: the caller's, with the settings of this process and without those of others.
import { privateVariables, serviceVariables } from './settings.mjs'

/** @import { Settings } from './settings.mjs' */
/** @import { Credential, Secrets } from './secrets.mjs' */
/** @typedef {{ databaseUrl: string, resourceDatabaseUrl: string, redisUrl?: string | undefined }} Servers */

const DEMO_PROVIDER_CLIENT = 'valetkey'
// The authorization server and its command line know this value (storage/redis/emulated-redis.ts).
const EMULATED_REDIS_URL = 'redis://emulated.invalid'

/**
 * @param {NodeJS.ProcessEnv} caller
 * @param {Settings} settings
 * @param {Pick<Servers, 'databaseUrl' | 'redisUrl'> & { secrets: Secrets }} servers
 */
export function authorizationServerEnvironment(caller, settings, { databaseUrl, redisUrl, secrets }) {
  return {
    ...without(caller, privateVariables.resourceServer),
    ISSUER: settings.issuer,
    RESOURCE_URL: settings.resourceUrl,
    PUBLIC_LISTEN: settings.listen.authPublic.text,
    INTERNAL_LISTEN: settings.listen.authInternal.text,
    OPERATOR_LISTEN: settings.listen.authOperator.text,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl ?? EMULATED_REDIS_URL,
    COOKIE_KEYS: caller.COOKIE_KEYS ?? secrets.cookieKey,
    ...signInProviders(settings, secrets)
  }
}

/**
 * The demo provider, unless the caller has named providers or does not want it.
 * @param {Pick<Settings, 'demoProviderUrl'>} settings
 * @param {Secrets} secrets
 */
function signInProviders({ demoProviderUrl }, secrets) {
  if (demoProviderUrl === undefined) return {}
  const provider = {
    id: 'demo',
    label: 'Demo provider',
    issuer: demoProviderUrl,
    provisioning: 'create',
    client_id: DEMO_PROVIDER_CLIENT,
    client_secret: secrets.demoProviderSecret
  }
  return { SIGN_IN_PROVIDERS: JSON.stringify([provider]) }
}

/**
 * Another party: it knows its own listener and its client, Valetkey.
 * @param {NodeJS.ProcessEnv} caller
 * @param {Settings} settings
 * @param {Secrets} secrets
 */
export function demoProviderEnvironment(caller, settings, secrets) {
  const client = { id: DEMO_PROVIDER_CLIENT, secret: secrets.demoProviderSecret, server: settings.issuer }
  return {
    ...without(caller, [...privateVariables.authorizationServer, ...privateVariables.resourceServer]),
    DEMO_PROVIDER_ISSUER: settings.demoProviderUrl,
    DEMO_PROVIDER_CLIENT: JSON.stringify(client),
    LISTEN: settings.listen.provider?.text
  }
}

/**
 * @param {NodeJS.ProcessEnv} caller
 * @param {Settings} settings
 * @param {{ resourceDatabaseUrl: string, credential: Credential, secrets: Secrets }} servers
 */
export function resourceServerEnvironment(caller, settings, { resourceDatabaseUrl, credential, secrets }) {
  return {
    ...without(caller, privateVariables.authorizationServer),
    ISSUER: settings.issuer,
    RESOURCE_URL: settings.resourceUrl,
    PUBLIC_LISTEN: settings.listen.filesPublic.text,
    OPERATOR_LISTEN: settings.listen.filesOperator.text,
    RESOURCE_DATABASE_URL: resourceDatabaseUrl,
    PAGE_TOKEN_KEYS: caller.PAGE_TOKEN_KEYS ?? secrets.pageTokenKey,
    INTROSPECTION_URL: settings.introspectionUrl,
    REVOCATIONS_URL: settings.revocationsUrl,
    INTROSPECTION_CLIENT_ID: credential.id,
    INTROSPECTION_CLIENT_SECRET: credential.secret
  }
}

/**
 * The demo client gets only two public addresses and its own registration.
 * @param {NodeJS.ProcessEnv} caller
 * @param {Settings} settings
 * @param {Credential} client
 */
export function demoClientEnvironment(caller, settings, client) {
  return {
    ...without(caller, [...privateVariables.authorizationServer, ...privateVariables.resourceServer]),
    ISSUER: settings.issuer,
    RESOURCE_URL: settings.resourceUrl,
    CLIENT_ID: client.id,
    CLIENT_SECRET: client.secret,
    BASE_URL: settings.demoUrl,
    LISTEN: settings.listen.demo.text
  }
}

/**
 * The settings that the command lines need. They are stored in the run file while the services run.
 * @param {NodeJS.ProcessEnv} caller
 * @param {Settings} settings
 * @param {Pick<Servers, 'databaseUrl' | 'resourceDatabaseUrl'>} servers
 */
export function commandLineEnvironment(caller, settings, { databaseUrl, resourceDatabaseUrl }) {
  const { DATABASE_DIRECT_URL, RESOURCE_DATABASE_DIRECT_URL } = caller
  return {
    DATABASE_URL: databaseUrl,
    RESOURCE_DATABASE_URL: resourceDatabaseUrl,
    ...(DATABASE_DIRECT_URL && { DATABASE_DIRECT_URL }),
    ...(RESOURCE_DATABASE_DIRECT_URL && { RESOURCE_DATABASE_DIRECT_URL }),
    ISSUER: settings.issuer,
    RESOURCE_URL: settings.resourceUrl
  }
}

/**
 * The settings that `doctor` needs in addition, and those of the caller, such as `LOCAL_SIGN_IN`: commands in another terminal
 * must decide as the services do.
 * @param {NodeJS.ProcessEnv} caller
 * @param {Settings} settings
 * @param {{ redisUrl?: string | undefined, credential: Credential, secrets: Secrets }} servers
 */
export function doctorEnvironment(caller, settings, { redisUrl, credential, secrets }) {
  return {
    ...Object.fromEntries(Object.entries(caller).filter(([name]) => serviceVariables.includes(name))),
    REDIS_URL: redisUrl ?? EMULATED_REDIS_URL,
    COOKIE_KEYS: caller.COOKIE_KEYS ?? secrets.cookieKey,
    PAGE_TOKEN_KEYS: caller.PAGE_TOKEN_KEYS ?? secrets.pageTokenKey,
    INTROSPECTION_URL: settings.introspectionUrl,
    INTROSPECTION_CLIENT_ID: credential.id,
    INTROSPECTION_CLIENT_SECRET: credential.secret,
    ...signInProviders(settings, secrets)
  }
}

/**
 * The caller's own credential for introspection, or undefined. An id without a secret is an error, and the reverse.
 * @param {NodeJS.ProcessEnv} caller
 */
export function givenCredential({ INTROSPECTION_CLIENT_ID: id, INTROSPECTION_CLIENT_SECRET: secret }) {
  if ((id === undefined) !== (secret === undefined)) {
    throw new Error('INTROSPECTION_CLIENT_ID and INTROSPECTION_CLIENT_SECRET must be given together')
  }
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/**
 * @param {NodeJS.ProcessEnv} environment
 * @param {readonly string[]} names
 */
const without = (environment, names) =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)))
