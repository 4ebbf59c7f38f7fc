import { headerValues } from './authorization-header.js'

/** The result of reading one Authorization header that is not of the scheme Bearer. */
export type DpopCredentials =
  | { kind: 'token'; accessToken: string }
  | { kind: 'other_scheme' }
  /** The scheme is DPoP, and the rest is not a token. */
  | { kind: 'malformed' }

// auth-scheme is a token and case-insensitive (RFC 9110 §11.1); only spaces separate it from the credentials.
const DPOP_SCHEME = /^dpop(?![!#$%&'*+.^_`|~0-9A-Za-z-])/i
const CREDENTIALS = /^dpop +([A-Za-z0-9\-._~+/]+=*)$/i

/** Reads a token exactly as in RFC 9449 §7.1: `"DPoP" 1*SP token68`. */
export function readDpopCredentials(authorization: string): DpopCredentials {
  if (!DPOP_SCHEME.test(authorization)) return { kind: 'other_scheme' }
  const accessToken = CREDENTIALS.exec(authorization)?.[1]
  return accessToken === undefined ? { kind: 'malformed' } : { kind: 'token', accessToken }
}

/**
 * Every DPoP header of a request. Node joins repeated headers with a comma, and two proofs must be refused (RFC 9449 §4.3).
 * @param rawHeaders names and values in turn, as in `IncomingMessage.rawHeaders`
 */
export function dpopHeaders(rawHeaders: readonly string[]): readonly string[] {
  return headerValues(rawHeaders, 'dpop')
}
