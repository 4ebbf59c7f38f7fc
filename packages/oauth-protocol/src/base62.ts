/** Digits, then upper case, then lower case: the order that scanners of other services' tokens expect as well. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Writes bytes, read as one big-endian number, in exactly `length` base62 characters; higher digits are cut off. */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let position = 0; position < length; position++) {
    text = ALPHABET[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
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
