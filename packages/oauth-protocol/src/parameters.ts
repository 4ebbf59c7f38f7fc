/**
 * Request parameters as OAuth sees them (RFC 6749 §3.1, §3.2): one sent empty counts as absent, one sent more than once
 * is an error, and names are plain text (`scope[]` is another name than `scope`).
 */
export type Parameters = {
  /** The value, when it was sent once and could be decoded. */
  get(name: string): string | undefined
  isRepeated(name: string): boolean
  /** It holds a broken percent-encoding, bytes that are not UTF-8, or a control character. */
  isMalformed(name: string): boolean
}

type Occurrence = { value: string; malformed: boolean }

/** Reads a query string or a form body (application/x-www-form-urlencoded). */
export function parseParameters(encoded: string): Parameters {
  const found = new Map<string, Occurrence[]>()
  for (const pair of encoded.split('&')) {
    const { name, encodedValue } = splitPair(pair)
    const occurrence = decodeComponent(encodedValue)
    if (occurrence.value === '') continue
    const others = found.get(name)
    if (others === undefined) found.set(name, [occurrence])
    else others.push(occurrence)
  }
  return {
    get(name) {
      const occurrences = found.get(name)
      const only = occurrences?.length === 1 ? occurrences[0] : undefined
      return only === undefined || only.malformed ? undefined : only.value
    },
    isRepeated: (name) => (found.get(name)?.length ?? 0) > 1,
    isMalformed: (name) => found.get(name)?.some((occurrence) => occurrence.malformed) ?? false
  }
}

/** Takes one parameter out of an encoded query, however its name is encoded, and leaves every other byte as it is. */
export function withoutParameter(encoded: string, name: string): string {
  return encoded
    .split('&')
    .filter((pair) => splitPair(pair).name !== name)
    .join('&')
}

function splitPair(pair: string): { name: string; encodedValue: string } {
  const equals = pair.indexOf('=')
  if (equals < 0) return { name: decodeName(pair), encodedValue: '' }
  return { name: decodeName(pair.slice(0, equals)), encodedValue: pair.slice(equals + 1) }
}

/** Stands for itself, whatever it is: most names and half of the values. */
const PLAIN = /^[\w.~:/-]*$/

function decodeName(encoded: string): string {
  return PLAIN.test(encoded) ? encoded : decodeComponent(encoded).value
}

// Control characters mean nothing in any parameter of ours, and stores choke on NUL.
const CONTROL_CHARACTER = /\p{Cc}/u

function decodeComponent(encoded: string): Occurrence {
  if (PLAIN.test(encoded)) return { value: encoded, malformed: false }
  try {
    const value = decodeURIComponent(encoded.replaceAll('+', ' '))
    return { value, malformed: CONTROL_CHARACTER.test(value) }
  } catch {
    return { value: encoded, malformed: true }
  }
}
