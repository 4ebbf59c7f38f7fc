export type Config = Readonly<{
  issuer: string
  /** The resource identifier of this API: the required audience of tokens. */
  resource: string
  introspection: Readonly<{ url: string; clientId: string; clientSecret: string }>
  listen: Readonly<{ host: string; port: number }>
}>

type Environment = Readonly<Record<string, string | undefined>>

/** @throws {Error} that names every variable that is missing */
export function readConfig(environment: Environment = process.env): Config {
  const missing: string[] = []
  function text(name: string): string {
    const value = environment[name] ?? ''
    if (value === '') missing.push(name)
    return value
  }

  const config: Config = Object.freeze({
    issuer: text('ISSUER'),
    resource: text('RESOURCE'),
    introspection: {
      url: text('INTROSPECTION_URL'),
      clientId: text('INTROSPECTION_CLIENT_ID'),
      clientSecret: text('INTROSPECTION_CLIENT_SECRET')
    },
    listen: { host: '127.0.0.1', port: Number(environment.PORT ?? 4600) }
  })
  if (missing.length > 0) throw new Error(`Not set: ${missing.join(', ')}`)
  return config
}
