export type Config = Readonly<{
  issuer: string
  /** The resource identifier: the URL of the MCP endpoint, and the required audience of tokens. */
  resource: string
  introspection: Readonly<{ url: string; clientId: string; clientSecret: string }>
  /** The folder whose files the tools list. */
  files: string
  scopes: Scopes
  /** Whether tokens that are bound to a key are accepted with a DPoP proof, or only these. */
  dpop: (typeof DPOP_MODES)[number]
  /** Secrets of the nonces of these proofs; none: proofs need no nonce. */
  nonceKeys: readonly string[]
  listen: Readonly<{ host: string; port: number }>
}>

/** The scope that every request needs, and the additional one of `find_file`. */
type Scopes = Readonly<{ list: string; find: string }>

const DPOP_MODES = ['off', 'allowed', 'required'] as const

type Environment = Readonly<Record<string, string | undefined>>

/** @throws {Error} that names every variable that is missing or malformed */
export function readConfig(environment: Environment = process.env): Config {
  const problems: string[] = []
  function text(name: string): string {
    const value = environment[name] ?? ''
    if (value === '') problems.push(`${name} is not set`)
    return value
  }

  const resource = text('RESOURCE')
  if (resource !== '' && !(URL.canParse(resource) && /^https?:/i.test(resource))) {
    problems.push('RESOURCE is not an http or https URL')
  }
  const port = Number(environment.PORT ?? 4500)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) problems.push('PORT is not a port number')
  const dpop = DPOP_MODES.find((mode) => mode === (environment.DPOP || 'off'))
  if (dpop === undefined) problems.push('DPOP is not off, allowed or required')
  const config: Config = Object.freeze({
    issuer: text('ISSUER'),
    resource,
    introspection: {
      url: text('INTROSPECTION_URL'),
      clientId: text('INTROSPECTION_CLIENT_ID'),
      clientSecret: text('INTROSPECTION_CLIENT_SECRET')
    },
    files: text('FILES'),
    scopes: {
      list: environment.LIST_SCOPE || 'agent-files.list',
      find: environment.FIND_SCOPE || 'agent-files.find'
    },
    dpop: dpop ?? 'off',
    nonceKeys: (environment.DPOP_NONCE_KEYS ?? '').split(',').filter((key) => key !== ''),
    listen: { host: '127.0.0.1', port }
  })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return config
}
