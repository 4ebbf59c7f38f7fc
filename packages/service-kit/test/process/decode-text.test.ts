import { expect, test } from '@jest/globals'
import { decodeText } from '../../src/process/decode-text.js'

test.each([
  ['', ''],
  ['Bücher 🔑', 'Bücher 🔑'],
  ['\uFEFFwith a byte order mark', 'with a byte order mark']
])('UTF-8 is decoded: %j', (content, text) => {
  expect(decodeText(Buffer.from(content))).toEqual({ text })
})

test.each([
  ['ISO-8859-1', Buffer.from('name: Bücher', 'latin1')],
  ['Windows-1252', Buffer.from([0x22, 0x93, 0xfc, 0x94, 0x22])],
  ['UTF-16LE', Buffer.from('\uFEFFname', 'utf16le')],
  ['UTF-16LE', Buffer.from('name', 'utf16le')],
  ['UTF-16BE', Buffer.from('\uFEFFname', 'utf16le').swap16()],
  ['UTF-16BE', Buffer.from('name', 'utf16le').swap16()],
  ['UTF-32LE', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])],
  ['UTF-32BE', Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x61])]
])('%s is refused by its name', (encoding, bytes) => {
  expect(decodeText(bytes)).toEqual({
    problem: `is not UTF-8 but ${encoding}: convert it (iconv -f ${encoding} -t UTF-8)`
  })
})

test('UTF-8 with a damaged character is refused as such', () => {
  const bytes = Buffer.concat([Buffer.from('Zoë and Zo'), Buffer.from([0xc3])])
  expect(decodeText(bytes)).toEqual({ problem: 'is not UTF-8: some of its characters are damaged' })
})
