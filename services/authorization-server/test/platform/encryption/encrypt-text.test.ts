import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { encryptText, openText } from '../../../src/platform/encryption/encrypt-text.js'

test('what was sealed opens with the same secret and purpose', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 1 }), fc.string(), (text, secret, purpose) => {
      expect(openText(encryptText(text, secret, purpose), secret, purpose)).toBe(text)
    })
  )
})

test('the text cannot be seen in what is stored, and the same text is never stored alike', () => {
  const sealed = encryptText('https://app.example/?code=secret', 'key', 'purpose')
  expect(sealed.toString('latin1')).not.toContain('secret')
  expect(sealed.equals(encryptText('https://app.example/?code=secret', 'key', 'purpose'))).toBe(false)
})

test.each([
  { name: 'another secret', open: (sealed: Buffer) => openText(sealed, 'other', 'purpose') },
  { name: 'another purpose', open: (sealed: Buffer) => openText(sealed, 'key', 'other') },
  { name: 'a cut text', open: (sealed: Buffer) => openText(sealed.subarray(0, -1), 'key', 'purpose') },
  { name: 'a cut tag', open: (sealed: Buffer) => openText(sealed.subarray(0, 20), 'key', 'purpose') },
  { name: 'nothing', open: () => openText(Buffer.alloc(0), 'key', 'purpose') }
])('$name does not open it', ({ open }) => {
  expect(() => open(encryptText('text', 'key', 'purpose'))).toThrow()
})

test('a single changed bit is noticed', () => {
  const sealed = encryptText('text', 'key', 'purpose')
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    expect(() => openText(changed, 'key', 'purpose')).toThrow()
  }
})
