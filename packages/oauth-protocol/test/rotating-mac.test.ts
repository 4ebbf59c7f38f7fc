import { createSecretKey } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { createMac, createTextMac, isMac, isTextMac } from '../src/rotating-mac.js'

const BYTES = Buffer.from('Hi There')

// RFC 4231 §4.2; the data is divided between text and bytes.
test('MAC: is HMAC-SHA-256 of the text and the bytes (RFC 2104, RFC 4231 §4.2)', () => {
  const keys = [createSecretKey(Buffer.alloc(20, 0x0b))]
  const expected = 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'
  expect(createMac(keys, 'Hi There').toString('hex')).toBe(expected)
  expect(createMac(keys, '', BYTES).toString('hex')).toBe(expected)
  expect(createMac(keys, 'Hi ', BYTES.subarray(3)).toString('hex')).toBe(expected)
  expect(createTextMac(keys, 'Hi There')).toBe(Buffer.from(expected, 'hex').toString('base64url'))
})

test('MAC: the first key makes it and every key verifies it', () => {
  expect(createMac(['new', 'old'], 'text')).toEqual(createMac(['new'], 'text'))
  expect(createTextMac(['new', 'old'], 'text')).toBe(createTextMac(['new'], 'text'))
  for (const [keys, isValid] of [
    [['old'], true],
    [['new', 'old'], true],
    [['new'], false],
    [[], false]
  ] as const) {
    expect(isMac(createMac(['old'], 'text', BYTES), keys, 'text', BYTES)).toBe(isValid)
    expect(isTextMac(createTextMac(['old'], 'text', BYTES), keys, 'text', BYTES)).toBe(isValid)
  }
})

test('MAC: without a key, none is made', () => {
  expect(() => createMac([], 'text')).toThrow('at least one key')
  expect(() => createTextMac([], 'text')).toThrow('at least one key')
})

test('MAC: is invalid for another text, for other bytes, and with another length', () => {
  const mac = createMac(['key'], 'text', BYTES)
  expect(isMac(mac, ['key'], 'other', BYTES)).toBe(false)
  expect(isMac(mac, ['key'], 'text', Buffer.from('other'))).toBe(false)
  expect(isMac(mac, ['key'], 'text')).toBe(false)
  expect(isMac(mac.subarray(0, 16), ['key'], 'text', BYTES)).toBe(false)
  expect(isMac(Buffer.alloc(0), ['key'], 'text', BYTES)).toBe(false)
})

test('MAC: a shortened one is valid only with its length', () => {
  const mac = createMac(['key'], 'text', BYTES)
  expect(isMac(mac.subarray(0, 16), ['key'], 'text', BYTES, 16)).toBe(true)
  expect(isMac(mac.subarray(0, 15), ['key'], 'text', BYTES, 16)).toBe(false)
  expect(isMac(mac, ['key'], 'text', BYTES, 16)).toBe(false)
})

test('MAC as text: only the characters that were made are valid', () => {
  const mac = createTextMac(['key'], 'text')
  expect(mac).toHaveLength(43)
  expect(isTextMac(`${mac}=`, ['key'], 'text')).toBe(false)
  expect(isTextMac(` ${mac}`, ['key'], 'text')).toBe(false)
  expect(isTextMac(mac.slice(0, -1), ['key'], 'text')).toBe(false)
  expect(isTextMac('', ['key'], 'text')).toBe(false)
})
