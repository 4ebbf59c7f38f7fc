// Spaces, and no other character, separate the scheme from the credentials (RFC 7617 §2).
const BASIC_SCHEME = /^basic(?: |$)/i
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i
// Without `fatal`, all bytes that are not UTF-8 would become the same replacement character.
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const CONTROL_CHARACTER = /\p{Cc}/u

export type BasicCredentials = { clientId: string; clientSecret: string }

export function usesBasicScheme(authorization: string): boolean {
  return BASIC_SCHEME.test(authorization)
}

/**
 * Reads HTTP Basic credentials (RFC 7617 §2) of a client (RFC 6749 §2.3.1): UTF-8 without control characters. Both
 * parts may be form-encoded, as the RFC requires, or raw, as many libraries send them.
 * @returns undefined when the header cannot be read
 */
export function readBasicCredentials(authorization: string): BasicCredentials | undefined {
  const text = decodeBase64(BASIC.exec(authorization)?.[1] ?? '')
  const colon = text.indexOf(':')
  if (colon < 1) return undefined
  const clientId = decodeForm(text.slice(0, colon))
  const clientSecret = decodeForm(text.slice(colon + 1))
  return CONTROL_CHARACTER.test(clientId + clientSecret) ? undefined : { clientId, clientSecret }
}

function decodeBase64(encoded: string): string {
  try {
    return UTF_8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return ''
  }
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
