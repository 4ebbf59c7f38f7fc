/**
 * Request parameters as OAuth sees them (RFC 6749 §3.1, §3.2): one sent empty counts as absent, one sent more than once
 * is an error, and names are plain text (`scope[]` is another name than `scope`).
 */
export type FormParameters = {
  /** The value, when it was sent once and could be decoded. */
  get(name: string): string | undefined
  isRepeated(name: string): boolean
  /** It holds a broken percent-encoding, bytes that are not UTF-8, or a control character. */
  isMalformed(name: string): boolean
}

/** Reads a query string or a form body (application/x-www-form-urlencoded). */
export function parseParameters(encoded: string): FormParameters {
  const values = new Map<string, string>()
  const repeated: string[] = []
  const malformed: string[] = []
  for (const pair of encoded.split('&')) {
    const equals = pair.indexOf('=')
    const encodedValue = equals < 0 ? '' : pair.slice(equals + 1)
    if (encodedValue === '') continue
    const name = nameOf(pair)
    const value = decodeValue(encodedValue)
    if (value === undefined) malformed.push(name)
    if (values.has(name)) repeated.push(name)
    else values.set(name, value ?? encodedValue)
  }
  return {
    get: (name) => (repeated.includes(name) || malformed.includes(name) ? undefined : values.get(name)),
    isRepeated: (name) => repeated.includes(name),
    isMalformed: (name) => malformed.includes(name)
  }
}

/** Takes one parameter out of an encoded query, however its name is encoded, and leaves every other byte as it is. */
export function withoutParameter(encoded: string, name: string): string {
  return encoded
    .split('&')
    .filter((pair) => nameOf(pair) !== name)
    .join('&')
}

function nameOf(pair: string): string {
  const equals = pair.indexOf('=')
  return decodeName(equals < 0 ? pair : pair.slice(0, equals))
}

/** Stands for itself, whatever it is: most names and half of the values. */
const PLAIN = /^[\w.~:/-]*$/

function decodeName(encoded: string): string {
  return PLAIN.test(encoded) ? encoded : (decode(encoded) ?? encoded)
}

// Control characters mean nothing in any parameter of ours, and stores choke on NUL.
const CONTROL_CHARACTER = /\p{Cc}/u

/** @returns undefined for a broken percent-encoding, bytes that are not UTF-8, or a control character */
function decodeValue(encoded: string): string | undefined {
  if (PLAIN.test(encoded)) return encoded
  const value = decode(encoded)
  return value === undefined || CONTROL_CHARACTER.test(value) ? undefined : value
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
