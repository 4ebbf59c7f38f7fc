import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decodeBase62Number, encodeBase62, encodeBase62Number } from '../src/base62.js'

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

test('base62: bytes are encoded as a big-endian number with the requested length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const text = encodeBase62(bytes, 43)
      const number = [...text].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n)
      expect(text).toHaveLength(43)
      expect(number.toString(16).padStart(64, '0')).toBe(Buffer.from(bytes).toString('hex'))
    })
  )
})

test('base62: any number of bytes is encoded; too long numbers keep only the lowest digits', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), fc.nat({ max: 30 }), (bytes, length) => {
      const whole = encodeBase62(bytes, 40)
      expect([...whole].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n)).toBe(
        BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
      )
      expect(encodeBase62(bytes, length)).toBe(whole.slice(whole.length - length))
    })
  )
})

test('base62: bytes and the same number have the same encoding', () => {
  fc.assert(
    fc.property(fc.nat({ max: 0xffffffff }), (number) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(number)
      expect(encodeBase62(bytes, 6)).toBe(encodeBase62Number(number, 6))
    })
  )
})
