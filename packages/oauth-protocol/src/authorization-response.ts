import type { OAuthErrorCode } from './oauth-error.js'

type ResponseTarget = { redirectUri: string; state: string | undefined; issuer: string }

/** The redirect that carries a code (RFC 6749 §4.1.2), with `iss` (RFC 9207 §2). */
export function successLocation(target: ResponseTarget, code: string): string {
  return appendParameters(target.redirectUri, [
    ['code', code],
    ['state', target.state],
    ['iss', target.issuer]
  ])
}

/** The redirect that carries an error (RFC 6749 §4.1.2.1), with `iss` as well (RFC 9207 §2). */
export function errorLocation(
  target: ResponseTarget,
  failure: { error: OAuthErrorCode; description: string; errorUri?: string | undefined }
): string {
  return appendParameters(target.redirectUri, [
    ['error', failure.error],
    ['error_description', failure.description],
    ['error_uri', failure.errorUri],
    ['state', target.state],
    ['iss', target.issuer]
  ])
}

/** Adds parameters to a URI and leaves its query unchanged (RFC 6749 §3.1.2). Registered URIs have no fragment. */
function appendParameters(uri: string, parameters: readonly (readonly [string, string | undefined])[]): string {
  const query = new URLSearchParams()
  for (const [name, value] of parameters) if (value !== undefined) query.append(name, value)
  return uri + separatorAfter(uri) + query.toString()
}

function separatorAfter(uri: string): '?' | '&' | '' {
  const start = uri.indexOf('?')
  if (start < 0) return '?'
  // A question mark may also end a value; only the first one opens the query (RFC 3986 §3.4).
  const isOpen = start === uri.length - 1 || uri.endsWith('&')
  return isOpen ? '' : '&'
}
