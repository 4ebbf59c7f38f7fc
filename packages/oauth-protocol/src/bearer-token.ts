import { parseParameters } from './parameters.js'

/** The result of reading a bearer token from the Authorization headers. */
export type BearerCredentials =
  | { kind: 'token'; accessToken: string }
  | { kind: 'none' }
  | { kind: 'other_scheme' }
  /** The scheme is Bearer, and the rest is not a token. */
  | { kind: 'malformed' }
  /** The request has more than one Authorization header: no RFC says which one is valid, so none is. */
  | { kind: 'doubled' }

// auth-scheme is a token and case-insensitive (RFC 9110 §11.1); only spaces separate it from the credentials.
const BEARER_SCHEME = /^bearer(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i
const CREDENTIALS = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

/**
 * Reads a bearer token exactly as in RFC 6750 §2.1: `"Bearer" 1*SP b64token`.
 * @param authorization every Authorization header of the request, in order
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
 * Whether a query or an encoded form has an access token (RFC 6750 §2.2, §2.3). A resource that accepts tokens in the header
 * only refuses both, because URLs are stored in logs and browser histories.
 */
export function carriesAccessToken(encoded: string): boolean {
  const parameters = parseParameters(encoded)
  return (
    parameters.get('access_token') !== undefined ||
    parameters.isRepeated('access_token') ||
    parameters.isMalformed('access_token')
  )
}
