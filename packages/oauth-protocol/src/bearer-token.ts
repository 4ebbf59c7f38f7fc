import { parseParameters } from './parameters.js'

/** What the Authorization headers of a request say about a bearer token. */
export type BearerCredentials =
  | { kind: 'token'; accessToken: string }
  | { kind: 'none' }
  | { kind: 'other_scheme' }
  /** The scheme is Bearer, and what follows cannot be a token. */
  | { kind: 'malformed' }
  /** More than one Authorization header: no rule says which one counts, so none does. */
  | { kind: 'doubled' }

// auth-scheme is a token and case-insensitive (RFC 9110 §11.1); spaces, and nothing else, stand between it and the rest.
const BEARER_SCHEME = /^bearer(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i
const CREDENTIALS = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

/**
 * Reads a bearer token to the letter of RFC 6750 §2.1: `"Bearer" 1*SP b64token`.
 * @param authorization every Authorization header of the request, in the order they came
 */
export function readBearerCredentials(authorization: readonly string[]): BearerCredentials {
  const [header, second] = authorization
  if (header === undefined) return { kind: 'none' }
  if (second !== undefined) return { kind: 'doubled' }
  if (header === '') return { kind: 'none' }
  if (!BEARER_SCHEME.test(header)) return { kind: 'other_scheme' }
  const accessToken = CREDENTIALS.exec(header)?.[1]
  return accessToken === undefined ? { kind: 'malformed' } : { kind: 'token', accessToken }
}

/**
 * Whether a query or an encoded form carries an access token (RFC 6750 §2.2, §2.3). Both ways exist in the RFC; a
 * resource that takes tokens from the header only refuses them, for URLs end up in logs and histories.
 */
export function carriesAccessToken(encoded: string): boolean {
  const parameters = parseParameters(encoded)
  return (
    parameters.get('access_token') !== undefined ||
    parameters.isRepeated('access_token') ||
    parameters.isMalformed('access_token')
  )
}
