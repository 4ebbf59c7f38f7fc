export type Config = ReturnType<typeof readConfig>

const URL_FORM = 'an http:// or https:// URL without trailing slash, query, fragment and user name'
const isBaseUrl = (value: string) => URL.canParse(value) && /^https?:\/\/[^?#@]*[^/?#@]$/.test(value)
const isOrigin = (value: string) => isBaseUrl(value) && new URL(value).pathname === '/'
const isHostAndPort = (value: string) => URL.canParse(`http://${value}`) && /^[^/?#@]+:\d+$/.test(value)

/** @throws an error with one line for each wrong setting. A line names the variable and never contains its value. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env) {
  const problems: string[] = []

  function text(name: string, isValid: (value: string) => boolean = () => true, form = ''): string {
    const value = environment[name] ?? ''
    if (value === '') problems.push(`${name}: is missing`)
    else if (!isValid(value)) problems.push(`${name}: must be ${form}`)
    return value
  }

  const issuer = text('ISSUER', isBaseUrl, URL_FORM)
  const resourceUrl = text('RESOURCE_URL', isBaseUrl, URL_FORM)
  const clientId = text('CLIENT_ID')
  const clientSecret = text('CLIENT_SECRET')
  const origin = text('BASE_URL', isOrigin, 'an origin, for example http://127.0.0.1:4200')
  const listen = text('LISTEN', isHostAndPort, 'host:port, for example 127.0.0.1:4200')
  if (problems.length > 0) throw new Error(problems.join('\n'))

  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(listen) ?? []
  const baseUrl = new URL(origin)
  const redirectUri = `${baseUrl.origin}/callback`
  const listenOn = { host, port: Number(port) }
  return { issuer: new URL(issuer), resourceUrl, clientId, clientSecret, baseUrl, redirectUri, listen: listenOn }
}
