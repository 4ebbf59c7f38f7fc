/** The parts of `REDIS_URL`. */
export type RedisAddress = {
  /** The server, or all Sentinels. */
  hosts: readonly { host: string; port: number }[]
  /** The Sentinels' name of the primary; undefined without Sentinels. */
  sentinelName: string | undefined
  username: string | undefined
  password: string | undefined
  /** Credentials of the Sentinels themselves. */
  sentinelUsername: string | undefined
  sentinelPassword: string | undefined
  database: number
  tls: boolean
}

const PARTS = /^(redis|rediss)(\+sentinel)?:\/\/(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/i
const QUERY = ['sentinelUsername', 'sentinelPassword']

/**
 * `redis://user:password@host:6379/0` and `redis+sentinel://user:password@one:26379,other:26379/mymaster/0`; with `rediss`
 * every connection is TLS. @throws {Error} with the problem, as `problemOfRedisUrl` returns it
 */
export function readRedisUrl(url: string): RedisAddress {
  const [, protocol, sentinel, credentials, hosts = '', path = '', query] = PARTS.exec(url) ?? []
  if (protocol === undefined) {
    throw new Error('must start with redis://, rediss://, redis+sentinel:// or rediss+sentinel://, and name a host')
  }
  const segments = path.split('/')
  const sentinelName = sentinel === undefined ? undefined : decoded(segments.shift() ?? '')
  if (sentinelName === '')
    throw new Error('must name the primary as the Sentinels do: redis+sentinel://host:26379/NAME')
  const options = new URLSearchParams(query)
  const unknown = [...options.keys()].find((name) => sentinel === undefined || !QUERY.includes(name))
  if (unknown !== undefined) throw new Error(`has the unknown parameter ${unknown}`)
  const [, username = '', password] = /^([^:]*)(?::(.*))?$/s.exec(credentials ?? '') ?? []
  return {
    hosts: readHosts(hosts, sentinel === undefined ? 6379 : 26_379, sentinel !== undefined),
    sentinelName,
    username: decoded(username) || undefined,
    password: decoded(password ?? '') || undefined,
    sentinelUsername: options.get('sentinelUsername') ?? undefined,
    sentinelPassword: options.get('sentinelPassword') ?? undefined,
    database: readDatabase(segments),
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

function readHosts(text: string, defaultPort: number, several: boolean): RedisAddress['hosts'] {
  const names = text.split(',')
  if (names.length > 1 && !several) throw new Error('names several hosts, which only redis+sentinel:// allows')
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
