/**
 * CORS for APIs whose only credential is the token: any origin may call them, without cookies. A browser hides the challenge
 * and the pause from the app unless the response exposes them.
 */
export const ANY_ORIGIN: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'www-authenticate, retry-after, etag, x-request-id'
}

/** For the response to a preflight request. `*` does not cover Authorization, so it is named (Fetch standard). */
export const PREFLIGHT: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': '*',
  'access-control-allow-headers': 'authorization, *',
  'access-control-max-age': '600'
}

/** The metadata is public (RFC 9728 §3.1). */
export const METADATA_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=300'
}

/** Clients of MCP in browsers send this header with every request. */
export const METADATA_PREFLIGHT: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': 'mcp-protocol-version',
  'access-control-max-age': '600'
}

/** A preflight request never has credentials, so a guard must not refuse it. */
export function isPreflight(method: string | undefined, requestedMethod: string | null | undefined): boolean {
  return method === 'OPTIONS' && typeof requestedMethod === 'string'
}
