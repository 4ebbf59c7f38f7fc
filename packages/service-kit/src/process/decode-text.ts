import { isUtf8 } from 'node:buffer'

const MARKS = [
  { bytes: [0xff, 0xfe, 0, 0], encoding: 'UTF-32LE' },
  { bytes: [0, 0, 0xfe, 0xff], encoding: 'UTF-32BE' },
  { bytes: [0xff, 0xfe], encoding: 'UTF-16LE' },
  { bytes: [0xfe, 0xff], encoding: 'UTF-16BE' }
]

/**
 * Decodes a file that an operator gives. It must be UTF-8, with or without a byte order mark, because another encoding would
 * change names without notice. @returns the text, or the problem, which continues the name of the file
 */
export function decodeText(bytes: Uint8Array): { text: string } | { problem: string } {
  const encoding = otherEncoding(bytes)
  if (encoding === undefined) return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  if (encoding === 'damaged') return { problem: 'is not UTF-8: some of its characters are damaged' }
  return { problem: `is not UTF-8 but ${encoding}: convert it (iconv -f ${encoding} -t UTF-8)` }
}

/** The probable encoding of bytes that are no text in UTF-8, or `damaged`. Undefined for text in UTF-8. */
function otherEncoding(bytes: Uint8Array): string | undefined {
  const marked = MARKS.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte))
  if (marked !== undefined) return marked.encoding
  // No text has this character, but each Latin letter in UTF-16 has this byte.
  const zero = bytes.indexOf(0)
  if (zero !== -1) return zero % 2 === 1 ? 'UTF-16LE' : 'UTF-16BE'
  if (isUtf8(bytes)) return undefined
  // A valid sequence of several bytes hardly occurs in text of another encoding.
  const hasValidSequence = /[^\0-\x7f\ufffd]/u.test(new TextDecoder().decode(bytes))
  if (hasValidSequence) return 'damaged'
  return bytes.some((byte) => byte >= 0x80 && byte < 0xa0) ? 'Windows-1252' : 'ISO-8859-1'
}
