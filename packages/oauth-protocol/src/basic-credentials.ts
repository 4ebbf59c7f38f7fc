// Spaces, and no other character, separate the scheme from the credentials (RFC 7617 §2).
const BASIC_SCHEME = /^basic(?: |$)/i
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i
// Without `fatal`, all bytes that are not UTF-8 would become the same replacement character.
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const CONTROL_CHARACTER = /\p{Cc}/u

/** @property clientSecrets what the sender may have meant: the raw text, and what it is decoded to if that differs */
export type BasicCredentials = { clientId: string; clientSecrets: readonly [string, ...string[]] }

export function usesBasicScheme(authorization: string): boolean {
  return BASIC_SCHEME.test(authorization)
}

/**
 * Reads HTTP Basic credentials (RFC 7617 §2) of a client (RFC 6749 §2.3.1): UTF-8 without control characters. Both
 * parts may be form-encoded, as the RFC requires, or raw, as many libraries send them. An id has one reading: no registered
 * id changes when it is encoded. The header does not show how a secret was sent, so it has up to three readings.
 * @returns undefined when the header cannot be read
 */
export function readBasicCredentials(authorization: string): BasicCredentials | undefined {
  const text = decodeBase64(BASIC.exec(authorization)?.[1] ?? '')
  const colon = text.indexOf(':')
  if (colon < 1 || CONTROL_CHARACTER.test(text)) return undefined
  const clientId = decodeForm(text.slice(0, colon))
  return CONTROL_CHARACTER.test(clientId) ? undefined : { clientId, clientSecrets: readingsOf(text.slice(colon + 1)) }
}

function readingsOf(secret: string): readonly [string, ...string[]] {
  // A plus sign is a space in a form (HTML §4.10.21.8), and itself in a percent-encoded URI.
  const decoded = new Set([decodePercent(secret), decodeForm(secret)])
  decoded.delete(secret)
  return [secret, ...[...decoded].filter((reading) => !CONTROL_CHARACTER.test(reading))]
}

function decodeBase64(encoded: string): string {
  try {
    return UTF_8.decode(Buffer.from(encoded, 'base64'))
  } catch {
    return ''
  }
}

function decodeForm(text: string): string {
  return decodePercent(text.replaceAll('+', ' '), text)
}

/** @param otherwise when the text is not percent-encoded UTF-8 */
function decodePercent(text: string, otherwise = text): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return otherwise
  }
}
