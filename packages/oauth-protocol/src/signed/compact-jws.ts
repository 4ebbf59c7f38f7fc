/** Members of a JSON object whose types are not known yet. */
export type JsonMembers = Readonly<Record<string, unknown>>

/** A JWS in compact serialization (RFC 7515 §7.1). Its signature is not verified. */
export type CompactJws = { text: string; header: JsonMembers; payload: JsonMembers }

/** Characters. A DPoP proof with an EC key has about 475, one with the longest RSA key that is accepted about 2,000. */
const MAX_LENGTH = 4_096

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a JWS whose payload is a JSON object. Libraries accept a signature that is not canonical base64url, so one token would have
 * several texts; this function refuses it.
 * @returns undefined if it is no such JWS, or too long
 */
export function readCompactJws(text: string): CompactJws | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const parts = text.split('.')
  if (parts.length !== 3) return undefined
  const [header, payload, signature] = parts.map(decodeCanonical)
  if (header === undefined || payload === undefined || signature === undefined) return undefined
  const members = { header: parseObject(header), payload: parseObject(payload) }
  return members.header && members.payload && { text, header: members.header, payload: members.payload }
}

/** @returns undefined if the text is empty or another text has the same bytes (RFC 4648 §3.5) */
export function decodeCanonical(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return text !== '' && bytes.toString('base64url') === text ? bytes : undefined
}

function parseObject(bytes: Buffer): JsonMembers | undefined {
  try {
    const value: unknown = JSON.parse(UTF_8.decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonMembers) : undefined
  } catch {
    return undefined
  }
}
