export type Config = Readonly<{
  /** The authorization server's issuer; everything else about it is discovered (RFC 8414). */
  issuer: URL
  resourceUrl: string
  clientId: string
  clientSecret: string
  /** This app's own origin, as browsers see it. */
  baseUrl: URL
  redirectUri: string
  listen: Readonly<{ host: string; port: number }>
}>

/** Contains all problems, one line each. A line names the variable and never the value of a secret. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** @throws {ConfigurationError} when anything is missing or malformed */
export function readConfig(environment: Environment = process.env): Config {
  const problems: string[] = []

  function text(name: string, meaning: string): string {
    const value = environment[name] ?? ''
    if (value === '') problems.push(`${name}: is missing: ${meaning}`)
    return value
  }

  function webAddress(name: string, meaning: string): URL {
    const nowhere = new URL('http://invalid')
    const value = text(name, meaning)
    if (value === '') return nowhere
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      problems.push(`${name}: must be an http:// or https:// URL`)
      return nowhere
    }
    if (value.endsWith('/') || /[?#]/.test(value) || url.username !== '' || url.password !== '') {
      problems.push(`${name}: must be a base URL without trailing slash, query, fragment and user name`)
    }
    return url
  }

  function listenAddress(name: string): Config['listen'] {
    const value = text(name, 'the host:port to listen on, for example 127.0.0.1:4200')
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(value)
    const port = Number(match?.[3])
    if (match !== null && port <= 65_535) return { host: match[1] ?? match[2] ?? '', port }
    if (value !== '') problems.push(`${name}: must be host:port, for example 127.0.0.1:4200`)
    return { host: '', port: 0 }
  }

  const issuer = webAddress('ISSUER', 'the address of the authorization server')
  const resourceUrl = webAddress('RESOURCE_URL', 'the address of the files API')
  const clientId = text('CLIENT_ID', 'the id that this app was registered with')
  const clientSecret = text('CLIENT_SECRET', 'the secret that this app was registered with')
  const baseUrl = webAddress('BASE_URL', "this app's own address, for example http://127.0.0.1:4200")
  // The routes are at the root, so with a path here, links and the redirect URI would be wrong.
  if (baseUrl.pathname !== '/') problems.push('BASE_URL: must not have a path')
  const listen = listenAddress('LISTEN')

  if (problems.length > 0) throw new ConfigurationError(problems)
  return Object.freeze({
    issuer,
    resourceUrl: resourceUrl.href.replace(/\/$/, ''),
    clientId,
    clientSecret,
    baseUrl,
    redirectUri: `${baseUrl.origin}/callback`,
    listen
  })
}
