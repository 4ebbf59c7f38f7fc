import { toErrorDescription } from './oauth-error.js'

/** The error codes of a resource server (RFC 6750 §3.1). */
export type BearerErrorCode = 'invalid_request' | 'invalid_token' | 'insufficient_scope'

export const BEARER_ERROR_STATUS: Readonly<Record<BearerErrorCode, number>> = {
  invalid_request: 400,
  invalid_token: 401,
  insufficient_scope: 403
}

export type BearerChallenge = {
  realm: string
  /** The scope that this resource requires, space-separated. */
  scope?: string
  /** URL of the protected resource metadata (RFC 9728 §5.1). */
  resourceMetadata?: string
  /** Absent when the request had no credentials (RFC 6750 §3.1). */
  error?: { code: BearerErrorCode; description: string }
}

/** The value of `WWW-Authenticate` (RFC 6750 §3, RFC 9110 §11.6.1). */
export function bearerChallenge(challenge: BearerChallenge): string {
  const parameters: readonly (readonly [string, string | undefined])[] = [
    ['realm', challenge.realm],
    ['scope', challenge.scope],
    ['resource_metadata', challenge.resourceMetadata],
    ['error', challenge.error?.code],
    ['error_description', challenge.error && toErrorDescription(challenge.error.description)]
  ]
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quote(value)}`]))
  return `Bearer ${given.join(', ')}`
}

/** quoted-string of RFC 9110 §5.6.4; a character that is not safe in a header becomes a question mark. */
function quote(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
