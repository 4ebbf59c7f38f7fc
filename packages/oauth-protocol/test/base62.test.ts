import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decodeBase62Number, encodeBase62Number, randomBase62 } from '../src/base62.js'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test.each([
  { number: 0, length: 1, text: '0' },
  { number: 9, length: 1, text: '9' },
  { number: 10, length: 1, text: 'A' },
  { number: 35, length: 1, text: 'Z' },
  { number: 36, length: 1, text: 'a' },
  { number: 61, length: 1, text: 'z' },
  { number: 62, length: 2, text: '10' },
  { number: 61, length: 4, text: '000z' },
  { number: 62 ** 4 - 1, length: 4, text: 'zzzz' },
  { number: 62 ** 4, length: 4, text: '0000' },
  { number: 0xffffffff, length: 6, text: '4gfFC3' },
  { number: Number.MAX_SAFE_INTEGER, length: 9, text: 'fFgnDxSe7' }
])('base62: $number in $length characters is $text', ({ number, length, text }) => {
  expect(encodeBase62Number(number, length)).toBe(text)
})

test.each(['-', '_', ' ', '00.0', 'é', '0\n'])('base62: %j is not a number', (text) => {
  expect(decodeBase62Number(text)).toBeUndefined()
})

test('base62: an encoded number is decoded to the same number', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (number) => {
      const text = encodeBase62Number(number, 9)
      expect(text).toMatch(/^[0-9A-Za-z]{9}$/)
      expect(decodeBase62Number(text)).toBe(number)
    })
  )
})

/** Returns all bytes in turn, and begins again. */
function bytesInTurn(): (size: number) => Uint8Array {
  let next = 0
  return (size) => Uint8Array.from({ length: size }, () => next++)
}

test('base62: each character is as likely as every other', () => {
  const source = bytesInTurn()
  // One byte for each call, so that no byte is left over.
  const characters = Array.from({ length: 248 * 3 }, () => randomBase62(1, () => source(1)))
  for (const digit of DIGITS) expect(characters.filter((character) => character === digit)).toHaveLength(12)
})

test('base62: a byte from 248 on is skipped, and more bytes are read when they run out', () => {
  const reads: Uint8Array[] = [Uint8Array.of(0, 248, 255, 61), Uint8Array.of(252), Uint8Array.of(62, 247)]
  expect(randomBase62(4, () => reads.shift() ?? new Uint8Array())).toBe('0z0z')
  expect(reads).toEqual([])
})

test.each([1, 22, 43, 64])('base62: %i random characters', (length) => {
  expect(randomBase62(length, randomBytes)).toMatch(new RegExp(`^[0-9A-Za-z]{${length}}$`))
})

test('base62: more than 64 random characters are refused', () => {
  expect(() => randomBase62(65, randomBytes)).toThrow(RangeError)
})
