import { toErrorDescription } from './oauth-error.js'

/** What the challenges of a protected resource say, whatever their scheme (RFC 6750 §3, RFC 9449 §7.1). */
export type ChallengeParameters<Code extends string> = {
  realm: string
  /** The scope that this resource requires, space-separated. */
  scope?: string
  /** URL of the protected resource metadata (RFC 9728 §5.1). */
  resourceMetadata?: string
  /** How long ago the user may have signed in, in seconds (RFC 9470 §3). */
  maxAge?: number
  /** Absent when the request had no credentials of this scheme (RFC 6750 §3.1). */
  error?: { code: Code; description: string }
}

/**
 * One challenge of `WWW-Authenticate` (RFC 9110 §11.6.1).
 * @param own parameters of the scheme, before those that all schemes have
 */
export function formatChallenge(
  scheme: string,
  { realm, scope, resourceMetadata, maxAge, error }: ChallengeParameters<string>,
  own: readonly (readonly [string, string])[] = []
): string {
  const parameters: readonly (readonly [string, string | undefined])[] = [
    ...own,
    ['realm', realm],
    ['scope', scope],
    ['resource_metadata', resourceMetadata],
    ['max_age', maxAge?.toString()],
    ['error', error?.code],
    ['error_description', error && toErrorDescription(error.description)]
  ]
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quote(value)}`]))
  return `${scheme} ${given.join(', ')}`
}

/** quoted-string of RFC 9110 §5.6.4; a character that is not safe in a header becomes a question mark. */
function quote(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
