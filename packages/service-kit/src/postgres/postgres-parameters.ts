import { readFileSync } from 'node:fs'
import { OWN_SETTINGS } from './postgres-settings.js'

/** @returns the problem of a value */
type Check = (value: string) => string | undefined

const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']
/** Certificate authorities that Node trusts, as in libpq. */
const SYSTEM = 'system'

const oneOf =
  (...values: string[]): Check =>
  (value) =>
    values.includes(value)
      ? undefined
      : `must be ${values.length > 2 ? 'one of ' : ''}${values.join(values.length > 2 ? ', ' : ' or ')}`

const any: Check = () => undefined

const file: Check = (value) => {
  try {
    readFileSync(value)
    return undefined
  } catch {
    return `names the file ${value}, which cannot be read`
  }
}

/** Every option that a URL may have. libpq knows more; those are refused, because the driver would ignore them. */
const CHECKS: Readonly<Record<string, Check>> = {
  sslmode: oneOf(...SSL_MODES),
  ssl: oneOf('true'),
  sslrootcert: (value) => (value === SYSTEM ? undefined : file(value)),
  sslcert: file,
  sslkey: file,
  sslnegotiation: oneOf('postgres', 'direct'),
  uselibpqcompat: oneOf('true'),
  channel_binding: oneOf('disable', 'prefer'),
  gssencmode: oneOf('disable', 'prefer'),
  target_session_attrs: oneOf('read-write', 'primary'),
  client_encoding: (value) => (/^utf-?8$/i.test(value) ? undefined : 'must be UTF8'),
  application_name: any,
  fallback_application_name: any,
  options: (value) => {
    const name = settingsIn(value).find((one) => one in OWN_SETTINGS)
    return name === undefined ? undefined : `must not contain ${name}, which this service sets itself`
  },
  user: any,
  password: any,
  host: (value) => (value.startsWith('/') ? undefined : 'must be the folder of a socket; write a host before the path'),
  port: (value) => (/^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? undefined : 'must be a port')
}

const REMEDIES: Readonly<Record<string, string>> = {
  channel_binding: 'sslmode=verify-full protects against the same attacks',
  dbname: 'write the database in the path',
  hostaddr: 'write the address as the host',
  require_auth: 'let pg_hba.conf allow scram-sha-256 only, and use sslmode=verify-full',
  sslcrl: 'remove it',
  sslpassword: 'store the key without a passphrase, readable for the service only'
}

/** The first problem of a URL's options, or undefined. @param authority user and hosts, as the URL has them before the path */
export function problemOfParameters(
  parameters: URLSearchParams,
  authority: { user: string; hosts: string }
): string | undefined {
  const names = [...parameters.keys()]
  for (const name of names) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined
    if (check === undefined) return unknown(name)
    if (parameters.getAll(name).length > 1) return `has ${name} twice`
    const problem = check(parameters.get(name) ?? '')
    if (problem !== undefined) return `${name} ${problem}${remedyOf(name)}`
  }
  return conflictInAuthority(parameters, authority) ?? conflictInTls(parameters)
}

function unknown(name: string): string {
  // A name with other characters may be a part of a password.
  if (!/^[a-z_]{1,40}$/i.test(name)) return 'has an option with an unknown name'
  return `has the option ${name}, which is unknown or cannot be honoured${remedyOf(name) || ': remove it'}`
}

const remedyOf = (name: string): string => (REMEDIES[name] === undefined ? '' : `: ${REMEDIES[name]}`)

function conflictInAuthority(parameters: URLSearchParams, { user, hosts }: { user: string; hosts: string }) {
  if (parameters.has('host') && hosts !== '') return 'names a host twice'
  if (parameters.has('port') && !parameters.has('host')) return 'has the option port: write the port after the host'
  const isTwice = user !== '' && (parameters.has('user') || parameters.has('password'))
  return isTwice ? 'has a user name or password twice' : undefined
}

/** Options that ask for more protection than the mode gives. */
function conflictInTls(parameters: URLSearchParams): string | undefined {
  const mode = parameters.get('sslmode')
  const root = parameters.get('sslrootcert')
  const isCompatible = parameters.has('uselibpqcompat')
  const asking = tlsOptions(parameters)
  if (mode === 'disable' && asking.length > 0) return `${asking[0]} has no effect with sslmode=disable`
  if (mode === 'no-verify' && root !== null) return 'sslrootcert has no effect with sslmode=no-verify'
  if (mode === 'no-verify' && parameters.has('ssl')) return 'has ssl and sslmode'
  if (parameters.has('sslcert') !== parameters.has('sslkey')) return 'sslcert and sslkey must be set together'
  if (!isCompatible || mode === null || mode === 'verify-full') return undefined
  if (root === SYSTEM) return 'sslrootcert=system needs sslmode=verify-full'
  return mode === 'verify-ca' && root === null ? 'sslmode=verify-ca needs sslrootcert' : undefined
}

const tlsOptions = (parameters: URLSearchParams): readonly string[] =>
  ['ssl', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'].filter(
    (name) => parameters.has(name) && parameters.get(name) !== 'postgres'
  )

/**
 * The options as the driver needs them.
 *
 * Every mode between `no-verify` and `verify-full` verifies certificate and name in today's driver. Writing `verify-full`
 * keeps it so in later versions, and avoids the driver's warning at each start.
 */
export function driverParameters(given: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams(given)
  const asksForTls = tlsOptions(given).length > 0
  for (const name of ['ssl', 'target_session_attrs', 'channel_binding', 'gssencmode', 'client_encoding']) {
    parameters.delete(name)
  }
  if (parameters.get('sslrootcert') === SYSTEM) parameters.delete('sslrootcert')
  const mode = parameters.get('sslmode')
  const isPartial = mode !== null && ['prefer', 'require', 'verify-ca'].includes(mode)
  if ((mode === null && asksForTls) || (isPartial && !given.has('uselibpqcompat'))) {
    parameters.set('sslmode', 'verify-full')
  }
  return parameters
}

/** The names in `-c name=value -cname=value --name=value`. */
function settingsIn(options: string): readonly string[] {
  const names = [...options.matchAll(/(?:^|\s)(?:-c\s*|--)([\w.-]+)\s*=/g)].map(([, name = '']) => name)
  return names.map((name) => name.toLowerCase().replaceAll('-', '_'))
}
