/**
 * Request parameters as in RFC 6749 §3.1 and §3.2: an empty parameter counts as absent, a repeated parameter is an error, and
 * names are plain text (`scope[]` is another name than `scope`).
 */
export type FormParameters = {
  /** The value, if the parameter was sent once and can be decoded. */
  get(name: string): string | undefined
  /** As `get`, of a text with several lines: line breaks, as LF, and tabs are allowed. */
  getText(name: string): string | undefined
  isRepeated(name: string): boolean
  /** The value has an invalid percent-encoding, bytes that are not UTF-8, or a control character. */
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
    getText: (name) => {
      if (repeated.includes(name)) return undefined
      const value = values.get(name)
      return value !== undefined && malformed.includes(name) ? decodeText(value) : value
    },
    isRepeated: (name) => repeated.includes(name),
    isMalformed: (name) => malformed.includes(name)
  }
}

/** Removes parameters from an encoded query, however their names are encoded, and leaves every other byte unchanged. */
export function withoutParameters(encoded: string, names: readonly string[]): string {
  const pairs = encoded.split('&')
  const kept = pairs.filter((pair) => !names.includes(nameOf(pair)))
  return kept.length === pairs.length ? encoded : kept.join('&')
}

function nameOf(pair: string): string {
  const equals = pair.indexOf('=')
  return decodeName(equals < 0 ? pair : pair.slice(0, equals))
}

/** Needs no decoding: most names and half of the values. */
const PLAIN = /^[\w.~:/-]*$/

function decodeName(encoded: string): string {
  return PLAIN.test(encoded) ? encoded : (decode(encoded) ?? encoded)
}

// No parameter of this service may have control characters, and Postgres refuses NUL in text.
const CONTROL_CHARACTER = /\p{Cc}/u

/** @returns undefined for an invalid percent-encoding, bytes that are not UTF-8, or a control character */
function decodeValue(encoded: string): string | undefined {
  if (PLAIN.test(encoded)) return encoded
  const value = decode(encoded)
  return value === undefined || CONTROL_CHARACTER.test(value) ? undefined : value
}

/** @returns undefined as `decodeValue`, but not for line breaks and tabs */
function decodeText(encoded: string): string | undefined {
  const text = decode(encoded)?.replaceAll('\r\n', '\n')
  return text === undefined || CONTROL_CHARACTER.test(text.replace(/[\n\t]/g, ' ')) ? undefined : text
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
