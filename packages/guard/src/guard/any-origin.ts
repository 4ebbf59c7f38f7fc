/**
 * CORS for APIs whose only credential is the token: any origin may call them, without cookies. A browser hides the challenge,
 * the nonce and the pause from the app unless the response exposes them.
 */
export const ANY_ORIGIN: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'www-authenticate, dpop-nonce, retry-after, etag, x-request-id'
}

/** Names of headers (RFC 9110 §5.6.1, §5.6.2). */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/

/**
 * Returns the headers of the response to a preflight request: any method, so that a script can read a 405, and any header.
 * `*` does not cover Authorization (Fetch standard), and older browsers do not know it, so the requested names are repeated.
 * @param requested `Access-Control-Request-Headers`
 */
export function preflightHeaders(requested: string | null | undefined): Readonly<Record<string, string>> {
  const names = typeof requested === 'string' && NAMES.test(requested) ? `, ${requested}` : ''
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': '*',
    'access-control-allow-headers': `authorization, *${names}`,
    'access-control-max-age': '600'
  }
}

/** The metadata is public (RFC 9728 §3.1). */
export const METADATA_HEADERS: Readonly<Record<string, string>> = {
  ...ANY_ORIGIN,
  'cache-control': 'public, max-age=300'
}

/** The headers of responses to other methods at the path of the metadata. */
export const METADATA_WRONG_METHOD: Readonly<Record<string, string>> = { ...ANY_ORIGIN, allow: 'GET, HEAD, OPTIONS' }

/** A preflight request never has credentials, so a guard must not refuse it. */
export function isPreflight(method: string | undefined, requestedMethod: string | null | undefined): boolean {
  return method === 'OPTIONS' && typeof requestedMethod === 'string'
}
