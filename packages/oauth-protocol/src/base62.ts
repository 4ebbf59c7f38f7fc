/** Digits, then upper case, then lower case: the order that secret scanners expect. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The longest text of `randomBase62`. */
const MOST_CHARACTERS = 64
/** A byte from this on would make the first characters of the alphabet more likely: 248 is a multiple of 62. */
const UNIFORM_BYTES = 248
/** With these, one call of the source is enough in 99.7 of 100 cases. */
const SPARE_BYTES = 5

/** Shared by all calls: a string that grows by one character at a time allocates much more (npm run bench:gates). */
const characters = Buffer.alloc(MOST_CHARACTERS)

/**
 * Uniformly random base62 characters, 5.95 bits each.
 * @param length at most 64
 * @param randomBytes called until enough bytes are below 248; about 3 % are not
 */
export function randomBase62(length: number, randomBytes: (size: number) => Uint8Array): string {
  if (length > MOST_CHARACTERS) throw new RangeError(`at most ${MOST_CHARACTERS} characters`)
  let filled = 0
  while (filled < length) {
    for (const byte of randomBytes(length - filled + SPARE_BYTES)) {
      if (byte >= UNIFORM_BYTES) continue
      characters[filled] = ALPHABET.charCodeAt(byte % 62)
      filled++
      if (filled === length) break
    }
  }
  return characters.toString('latin1', 0, length)
}

/** Writes a whole number from 0 to 2^53 - 1 in exactly `length` base62 characters; higher digits are cut off. */
export function encodeBase62Number(number: number, length: number): string {
  let rest = number
  let text = ''
  for (let position = 0; position < length; position++) {
    text = ALPHABET[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** The number that base62 text encodes; undefined if it has a character outside the alphabet. */
export function decodeBase62Number(text: string): number | undefined {
  let number = 0
  for (const character of text) {
    const digit = ALPHABET.indexOf(character)
    if (digit < 0) return undefined
    number = number * 62 + digit
  }
  return number
}
