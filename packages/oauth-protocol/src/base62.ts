/** Digits, then upper case, then lower case: the order that secret scanners expect. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Writes bytes, read as one big-endian number, in exactly `length` base62 characters; higher digits are cut off. */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  // Long division of the bytes: a BigInt for each digit allocates ten times as much (npm run bench:gates).
  const quotient = Uint8Array.from(bytes)
  const text = Buffer.alloc(length)
  for (let position = length - 1; position >= 0; position--) {
    let remainder = 0
    for (let index = 0; index < quotient.length; index++) {
      const dividend = remainder * 256 + (quotient[index] ?? 0)
      quotient[index] = dividend / 62
      remainder = dividend % 62
    }
    text[position] = ALPHABET.charCodeAt(remainder)
  }
  return text.toString('latin1')
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
