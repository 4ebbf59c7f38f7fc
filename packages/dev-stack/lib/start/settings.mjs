// Derives the settings of all processes of npm start from the caller's environment. The caller's values have precedence.
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/** @import { Listener } from '../processes/ports.mjs' */
/** @typedef {ReturnType<typeof readSettings>} Settings */
/** @typedef {Listener & { text: string }} Listening */
/** @typedef {{ host: string, port: number }} Address */

/** @type {[variable: string, fallback: string, what: string][]} */
const listenVariables = [
  ['AUTH_PUBLIC_LISTEN', 'localhost:4000', 'authorization server (public)'],
  ['AUTH_INTERNAL_LISTEN', 'localhost:4001', 'authorization server (internal)'],
  ['AUTH_OPERATOR_LISTEN', 'localhost:4002', 'authorization server (operator)'],
  ['FILES_PUBLIC_LISTEN', 'localhost:4100', 'resource server (public)'],
  ['FILES_OPERATOR_LISTEN', 'localhost:4101', 'resource server (operator)'],
  // A host name other than the issuer's, so that they share no cookies.
  ['DEMO_LISTEN', '127.0.0.1:4200', 'demo client'],
  ['DEMO_PROVIDER_LISTEN', '127.0.0.1:4300', 'demo provider']
]

/** Settings of one service only. Other processes do not get the value. */
export const privateVariables = {
  authorizationServer: [
    'DATABASE_URL',
    'DATABASE_DIRECT_URL',
    'REDIS_URL',
    'REDIS_CA',
    'COOKIE_KEYS',
    'SIGN_IN_PROVIDERS',
    'SMTP_URL'
  ],
  resourceServer: [
    'RESOURCE_DATABASE_URL',
    'RESOURCE_DATABASE_DIRECT_URL',
    'PAGE_TOKEN_KEYS',
    'REVOCATIONS_URL',
    'INTROSPECTION_URL',
    'INTROSPECTION_CLIENT_ID',
    'INTROSPECTION_CLIENT_SECRET'
  ]
}

/** All settings that npm start may set for a service. A test run must not inherit them. */
export const serviceVariables = [
  ...listenVariables.map(([variable]) => variable),
  'PUBLIC_LISTEN',
  'INTERNAL_LISTEN',
  'OPERATOR_LISTEN',
  'ISSUER',
  'RESOURCE_URL',
  'TRUSTED_PROXIES',
  ...privateVariables.authorizationServer,
  ...privateVariables.resourceServer,
  'CODE_TTL',
  'ACCESS_TOKEN_TTL',
  'REFRESH_TOKEN_IDLE_TTL',
  'REFRESH_TOKEN_MAX_TTL',
  'REFRESH_RETRY_WINDOW',
  'PUSHED_REQUESTS',
  'PROFILE',
  'LIMITS_FACTOR',
  'INTROSPECTION_CACHE_TTL',
  'AUDIT_RETENTION_DAYS',
  'DRAIN_DELAY',
  'LOG_LEVEL',
  'LOCAL_SIGN_IN',
  'SIGN_IN_HELP_URL',
  'PASSWORD_MIN_LENGTH',
  'SIGN_IN_AT_LEAST_EVERY',
  'SECURITY_MAILS',
  'MAIL_FROM',
  'PASSWORD_MEMORY',
  'LOGIN_HANDOFF_URL',
  'LOGIN_HANDOFF_ISSUER',
  'LOGIN_HANDOFF_KEYS',
  'LOGIN_HANDOFF_LABEL',
  'LOGIN_HANDOFF_PROVISIONING',
  'HTTPS_PROXY',
  'NO_PROXY',
  'CLIENT_ID_METADATA',
  'CLIENT_ID_METADATA_ALLOW',
  'CLIENT_ID_METADATA_DENY',
  'CLIENT_ID_METADATA_MAX_PER_MINUTE',
  'CLIENT_ID_METADATA_ALLOW_LOOPBACK',
  'DISCOVERED_REFRESH_TOKEN_MAX_TTL',
  'DEVELOPER_APPS',
  'ACCESS_CHOICES',
  'ACCESS_CHOICE_DEFAULT',
  'DPOP',
  'DPOP_NONCES',
  'PRODUCT_NAME',
  'PRODUCT_LOGO',
  'ACCENT_COLOR',
  'PAGES_DIR',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'BASE_URL',
  'LISTEN'
]

/**
 * Undefined if the file is not UTF-8: the service then reads it itself, and names the problem.
 * @param {string} file
 */
function contentOf(file) {
  const bytes = readFileSync(file)
  return isUtf8(bytes) ? new TextDecoder().decode(bytes) : undefined
}

/**
 * The caller's environment with each setting of the services as a plain value: no empty strings, no `_FILE` variables.
 * @param {NodeJS.ProcessEnv} environment
 */
export function readCaller(environment) {
  const caller = { ...environment }
  for (const name of serviceVariables) {
    const file = `${name}_FILE`
    if (caller[name] === '') delete caller[name]
    const value = caller[file]
    const content = value && caller[name] === undefined ? contentOf(value) : undefined
    if (content !== undefined) {
      caller[name] = content.replace(/\r?\n$/, '')
      delete caller[file]
    }
  }
  // The embedded databases have no pooler.
  if (caller.DATABASE_URL === undefined) delete caller.DATABASE_DIRECT_URL
  if (caller.RESOURCE_DATABASE_URL === undefined) delete caller.RESOURCE_DATABASE_DIRECT_URL
  return caller
}

/**
 * The host, port and public URL of each process.
 * @throws an error with one line for each malformed variable
 * @param {NodeJS.ProcessEnv} caller
 * @param {{ demoProvider?: boolean }} [options] `demoProvider: false` starts no demo provider
 */
export function readSettings(caller, { demoProvider = true } = {}) {
  /** @type {string[]} */
  const problems = []
  // The providers of the caller take its place.
  const hasDemoProvider = demoProvider && caller.SIGN_IN_PROVIDERS === undefined
  const wanted = listenVariables.filter(([variable]) => hasDemoProvider || variable !== 'DEMO_PROVIDER_LISTEN')
  const listeners = wanted.map(([variable, fallback, what]) => {
    const text = caller[variable] ?? fallback
    const parsed = parseListen(text)
    if (parsed === undefined) problems.push(`${variable}: must be host:port, for example ${fallback}`)
    return { variable, what, text, ...(parsed ?? { host: '', port: 0 }) }
  })
  problems.push(...sharedAddresses(listeners))
  const [authPublic, authInternal, authOperator, filesPublic, filesOperator, demo, provider] =
    /** @type {[Listening, Listening, Listening, Listening, Listening, Listening, Listening?]} */ (listeners)
  // It asks for no password.
  if (provider?.host && !isLoopback(provider.host)) problems.push(`${provider.variable}: must be on a loopback address`)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return {
    listeners,
    listen: { authPublic, authInternal, authOperator, filesPublic, filesOperator, demo, provider },
    issuer: caller.ISSUER ?? publicUrl(authPublic, 'localhost'),
    resourceUrl: caller.RESOURCE_URL ?? publicUrl(filesPublic, 'localhost'),
    introspectionUrl: caller.INTROSPECTION_URL ?? `${localUrl(authInternal)}/introspect`,
    revocationsUrl: caller.REVOCATIONS_URL ?? `${localUrl(authInternal)}/revocations`,
    demoUrl: publicUrl(demo, '127.0.0.1'),
    /** Undefined without the demo provider. */
    demoProviderUrl: provider && publicUrl(provider, '127.0.0.1')
  }
}

/**
 * `host:port`, `[::1]:port` or `:port`; not port 0, because the address would be unknown.
 * @param {string} text
 */
function parseListen(text) {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  return match !== null && port > 0 && port <= 65535 ? { host: match[1] || match[2] || '0.0.0.0', port } : undefined
}

/** @param {readonly Listener[]} listeners */
function sharedAddresses(listeners) {
  return listeners.flatMap((one, index) =>
    listeners
      .slice(0, index)
      .filter((other) => other.port === one.port && other.port !== 0)
      .map((other) => `${one.variable}: port ${one.port} is already the port of ${other.variable}`)
  )
}

/** @param {string} host */
const isWildcard = (host) => host === '0.0.0.0' || host === '::'
/** @param {string} host */
const isLoopback = (host) => host === 'localhost' || host === '::1' || host.startsWith('127.')
/**
 * @param {string} host
 * @param {number} port
 */
const url = (host, port) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/**
 * The address for browsers: `localhost`, unless another interface is configured.
 * @param {Address} address
 * @param {string} loopbackName
 */
const publicUrl = ({ host, port }, loopbackName) =>
  url(isWildcard(host) || isLoopback(host) ? loopbackName : host, port)

/**
 * The address for programs on this machine.
 * @param {Address} address
 */
export const localUrl = ({ host, port }) => url(isWildcard(host) ? 'localhost' : host, port)
