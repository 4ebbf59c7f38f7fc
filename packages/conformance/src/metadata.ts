import type { Exchange, Http, Received } from './http.js'
import { CouldNotTest } from './outcome.js'

export type Metadata = {
  /** The well-known path at which the document was found. */
  kind: 'oauth' | 'openid'
  response: Received
  document: Record<string, unknown>
  authorizationEndpoint: string
  tokenEndpoint: string
  revocationEndpoint: string | undefined
}

/**
 * The two places of an issuer's metadata, in the order of preference.
 * @example wellKnownUrl('https://a.example/x', 'oauth-authorization-server') // https://a.example/.well-known/oauth-authorization-server/x
 */
export function wellKnownUrl(identifier: string, name: string): string {
  const { origin, pathname, search } = new URL(identifier)
  // The well-known path is between host and path (RFC 8414 §3.1, RFC 9728 §3.1).
  return `${origin}/.well-known/${name}${pathname.replace(/\/$/, '')}${search}`
}

/**
 * Reads the metadata of an issuer: RFC 8414, else OpenID Connect Discovery.
 * @throws CouldNotTest if there is none, or it names no usable endpoints
 */
export async function readMetadata(issuer: string, http: Http, record: Exchange[]): Promise<Metadata> {
  const places = [
    { kind: 'oauth', url: wellKnownUrl(issuer, 'oauth-authorization-server') },
    { kind: 'openid', url: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` }
  ] as const
  const seen: string[] = []
  for (const { kind, url } of places) {
    const response = await http({ method: 'GET', url, headers: { accept: 'application/json' } }, record)
    const document = response.status === 200 ? parseObject(response.body) : undefined
    if (document !== undefined) return { kind, response, document, ...endpointsOf(document, url) }
    seen.push(`${url}: ${response.status === 200 ? 'no JSON object' : `status ${response.status}`}`)
  }
  throw new CouldNotTest(`no metadata of an authorization server (${seen.join('; ')})`)
}

function endpointsOf(document: Record<string, unknown>, url: string) {
  const revocationEndpoint = document.revocation_endpoint
  return {
    authorizationEndpoint: requiredUrl(document, 'authorization_endpoint', url),
    tokenEndpoint: requiredUrl(document, 'token_endpoint', url),
    revocationEndpoint:
      typeof revocationEndpoint === 'string' && URL.canParse(revocationEndpoint) ? revocationEndpoint : undefined
  }
}

function requiredUrl(document: Record<string, unknown>, name: string, url: string): string {
  const value = document[name]
  if (typeof value === 'string' && URL.canParse(value)) return value
  throw new CouldNotTest(`${url} has no URL in ${name}`)
}

/** @returns a JSON object, or undefined for anything else */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
