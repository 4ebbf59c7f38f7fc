import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decryptText, encryptText } from '../../../src/platform/encryption/encrypt-text.js'

test('a text is decrypted with the same secret and purpose', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 1 }), fc.string(), (text, secret, purpose) => {
      expect(decryptText(encryptText(text, secret, purpose), secret, purpose)).toBe(text)
    })
  )
})

test('the encrypted text does not contain the text, and differs each time', () => {
  const encrypted = encryptText('https://app.example/?code=secret', 'key', 'purpose')
  expect(encrypted.toString('latin1')).not.toContain('secret')
  expect(encrypted.equals(encryptText('https://app.example/?code=secret', 'key', 'purpose'))).toBe(false)
})

test.each([
  { name: 'another secret', open: (encrypted: Buffer) => decryptText(encrypted, 'other', 'purpose') },
  { name: 'another purpose', open: (encrypted: Buffer) => decryptText(encrypted, 'key', 'other') },
  { name: 'a cut text', open: (encrypted: Buffer) => decryptText(encrypted.subarray(0, -1), 'key', 'purpose') },
  { name: 'a cut tag', open: (encrypted: Buffer) => decryptText(encrypted.subarray(0, 20), 'key', 'purpose') },
  { name: 'nothing', open: () => decryptText(Buffer.alloc(0), 'key', 'purpose') }
])('$name does not decrypt it', ({ open }) => {
  expect(() => open(encryptText('text', 'key', 'purpose'))).toThrow()
})

test('a single changed bit is detected', () => {
  const encrypted = encryptText('text', 'key', 'purpose')
  for (let at = 0; at < encrypted.length; at++) {
    const changed = Buffer.from(encrypted)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    expect(() => decryptText(changed, 'key', 'purpose')).toThrow()
  }
})
