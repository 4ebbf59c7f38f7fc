/** Digits, then upper case, then lower case: the order that scanners of other services' tokens expect as well. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** With 16 bits behind it, a remainder of this many digits is still exact in a double: 62^5 * 2^16 < 2^53. */
const DIGITS_AT_ONCE = 5
const DIVISOR = 62 ** DIGITS_AT_ONCE

/**
 * Writes bytes, read as one big-endian number, in exactly `length` base62 characters; higher digits are cut off.
 * Long division by hand, five digits at a time: BigInt takes three times as long.
 */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  const words = toWords(bytes)
  let text = ''
  for (let left = length; left > 0; left -= DIGITS_AT_ONCE) {
    let remainder = 0
    for (let index = 0; index < words.length; index++) {
      const dividend = remainder * 0x10000 + (words[index] ?? 0)
      const quotient = Math.floor(dividend / DIVISOR)
      words[index] = quotient
      remainder = dividend - quotient * DIVISOR
    }
    text = encodeBase62Number(remainder, Math.min(DIGITS_AT_ONCE, left)) + text
  }
  return text
}

/** Words of 16 bits, the highest first. */
function toWords(bytes: Uint8Array): Uint16Array {
  const words = new Uint16Array(Math.ceil(bytes.length / 2))
  for (let index = 0; index < words.length; index++) {
    const low = bytes.length - 1 - 2 * (words.length - 1 - index)
    words[index] = ((bytes[low - 1] ?? 0) << 8) | (bytes[low] ?? 0)
  }
  return words
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

/** The number that base62 text stands for, or undefined when a character is none of the alphabet. */
export function decodeBase62Number(text: string): number | undefined {
  let number = 0
  for (const character of text) {
    const digit = ALPHABET.indexOf(character)
    if (digit < 0) return undefined
    number = number * 62 + digit
  }
  return number
}
