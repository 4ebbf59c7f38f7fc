import { problemOfCharacters } from '../process/url-characters.js'

/** The parts of `REDIS_URL`. */
export type RedisAddress = {
  /** The server, all Sentinels, or some nodes of a Redis Cluster, which name the others. */
  hosts: readonly { host: string; port: number }[]
  /** The Sentinels' name of the primary; undefined without Sentinels. */
  sentinelName: string | undefined
  isCluster: boolean
  username: string | undefined
  password: string | undefined
  /** Credentials of the Sentinels themselves. */
  sentinelUsername: string | undefined
  sentinelPassword: string | undefined
  database: number
  tls: boolean
}

const PARTS = /^(redis|rediss)(\+sentinel|\+cluster)?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/i
const QUERY = ['sentinelUsername', 'sentinelPassword']

/**
 * `redis://user:password@host:6379/0` and `redis+sentinel://user:password@one:26379,other:26379/mymaster/0`, and
 * `redis+cluster://user:password@one:6379,other:6379`; with `rediss` every connection is TLS. @throws {Error} with the problem, as `problemOfRedisUrl` returns it
 */
export function readRedisUrl(url: string): RedisAddress {
  const characters = problemOfCharacters(url)
  if (characters !== undefined) throw new Error(characters)
  const [, protocol, kind, credentials, hosts = '', path = '', query] = PARTS.exec(url) ?? []
  if (protocol === undefined) {
    throw new Error('must start with redis://, redis+sentinel:// or redis+cluster:// (rediss for TLS), and name a host')
  }
  const isSentinel = kind?.toLowerCase() === '+sentinel'
  const segments = path.split('/')
  const sentinelName = isSentinel ? decoded(segments.shift() ?? '') : undefined
  if (sentinelName === '')
    throw new Error('must name the primary as the Sentinels do: redis+sentinel://host:26379/NAME')
  const options = readOptions(query, isSentinel)
  const [, username = '', password = ''] = /^([^:]*)(?::(.*))?$/s.exec(credentials ?? '') ?? []
  // Without a password, a client sends no credentials at all.
  if (username !== '' && password === '') throw new Error('names a user without a password: write user:password@')
  const isCluster = kind !== undefined && !isSentinel
  const database = readDatabase(segments)
  if (isCluster && database !== 0) throw new Error('names a database, but a Redis Cluster has only database 0')
  return {
    hosts: readHosts(hosts, isSentinel ? 26_379 : 6379, kind !== undefined),
    sentinelName,
    isCluster,
    username: decoded(username) || undefined,
    password: decoded(password) || undefined,
    sentinelUsername: options.get('sentinelUsername') ?? undefined,
    sentinelPassword: options.get('sentinelPassword') ?? undefined,
    database,
    tls: protocol.toLowerCase() === 'rediss'
  }
}

/** The problem of a URL, or undefined. Never quotes secret parts. */
export function problemOfRedisUrl(url: string): string | undefined {
  try {
    readRedisUrl(url)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : 'cannot be read'
  }
}

function readOptions(query: string | undefined, isSentinel: boolean): URLSearchParams {
  const options = new URLSearchParams(query)
  for (const name of options.keys()) {
    const shown = /^[a-z_]{1,40}$/i.test(name) ? name : 'with an unknown name'
    if (!isSentinel || !QUERY.includes(name)) throw new Error(`has the unknown parameter ${shown}`)
    if (options.getAll(name).length > 1) throw new Error(`has ${name} twice`)
  }
  if (options.has('sentinelUsername') && !options.get('sentinelPassword')) {
    throw new Error('has sentinelUsername without sentinelPassword')
  }
  return options
}

function readHosts(text: string, defaultPort: number, several: boolean): RedisAddress['hosts'] {
  const names = text.split(',')
  if (names.length > 1 && !several)
    throw new Error('names several hosts, which only redis+sentinel:// and redis+cluster:// allow')
  return names.map((name) => {
    const [whole, ipv6, other, port] = HOST.exec(name) ?? []
    if (whole === undefined || Number(port ?? defaultPort) > 65_535) throw new Error('a host must be host or host:port')
    return { host: ipv6 ?? other ?? '', port: Number(port ?? defaultPort) }
  })
}

function readDatabase(segments: readonly string[]): number {
  const [number = ''] = segments
  if (segments.length > 1 || !/^\d{0,4}$/.test(number))
    throw new Error('the path must end with the number of a database')
  return Number(number)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('has a user name, password or name that is not percent-encoded')
  }
}
