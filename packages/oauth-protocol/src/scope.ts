/** scope-token of RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

export function isScopeToken(value: string): boolean {
  return SCOPE_TOKEN.test(value)
}

/**
 * Reads a scope parameter: tokens with one space between them (RFC 6749 §3.3). A token given twice counts once; the order
 * is kept, for clients compare the answer with what they asked for.
 * @returns undefined when the text is not a scope
 */
export function parseScope(text: string): readonly string[] | undefined {
  const tokens = text.split(' ')
  return tokens.every(isScopeToken) ? [...new Set(tokens)] : undefined
}

export function formatScope(scope: readonly string[]): string {
  return scope.join(' ')
}

export function isWithinScope(asked: readonly string[], allowed: readonly string[]): boolean {
  return asked.every((token) => allowed.includes(token))
}
