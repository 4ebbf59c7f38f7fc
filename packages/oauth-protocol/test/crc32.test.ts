import { crc32 as crc32OfZlib } from 'node:zlib'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { crc32 } from '../src/crc32.js'

test.each([
  { text: '', checksum: 0 },
  { text: 'a', checksum: 0xe8b7be43 },
  { text: '123456789', checksum: 0xcbf43926 },
  { text: 'The quick brown fox jumps over the lazy dog', checksum: 0x414fa339 }
])('CRC-32: "$text" has the published checksum (ISO 3309)', ({ text, checksum }) => {
  expect(crc32(text)).toBe(checksum)
})

test('CRC-32: ASCII text has the checksum of zlib', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
      expect(crc32(text)).toBe(crc32OfZlib(text))
    })
  )
})
