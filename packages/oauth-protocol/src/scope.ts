/** scope-token of RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

export function isScopeToken(value: string): boolean {
  return SCOPE_TOKEN.test(value)
}

/**
 * Reads a scope parameter: tokens separated by one space (RFC 6749 §3.3). A repeated token counts once. The order is kept,
 * because clients compare the response with their request.
 * @returns undefined when the text is not a scope
 */
export function parseScope(text: string): readonly string[] | undefined {
  const tokens = text.split(' ')
  return tokens.every(isScopeToken) ? [...new Set(tokens)] : undefined
}

export function formatScope(scope: readonly string[]): string {
  return scope.join(' ')
}

export function isWithinScope(requested: readonly string[], allowed: readonly string[]): boolean {
  return requested.every((token) => allowed.includes(token))
}
