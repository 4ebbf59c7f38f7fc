import { expect, test } from '@jest/globals'
import { kindOfMimeType } from '../../src/files/file-kind.js'
import { FILE_KINDS } from '../../src/files/file-scopes.js'

const EXAMPLES = [
  ['text/plain', 'documents'],
  ['text/x-typescript', 'documents'],
  ['application/pdf', 'documents'],
  ['application/rtf', 'documents'],
  ['application/epub+zip', 'documents'],
  ['application/msword', 'documents'],
  ['application/vnd.ms-excel', 'documents'],
  ['application/vnd.ms-excel.sheet.macroenabled.12', 'documents'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'documents'],
  ['application/vnd.oasis.opendocument.text', 'documents'],
  ['application/vnd.apple.pages', 'documents'],
  ['application/json', 'documents'],
  ['application/ld+json', 'documents'],
  ['application/xhtml+xml', 'documents'],
  ['application/toml', 'documents'],
  ['application/vnd.visio', 'documents'],
  ['application/vnd.oasis.opendocument.text-flat-xml', 'documents'],
  ['image/vnd.djvu', 'documents'],
  ['text/x-vcard', 'other'],
  ['text/calendar', 'other'],
  ['application/gpx+xml', 'other'],
  ['application/pskc+xml', 'other'],
  ['message/rfc822', 'other'],
  ['image/x-3ds', 'other'],
  ['image/x-canon-cr2', 'images'],
  ['application/mxf', 'media'],
  ['application/xspf+xml', 'media'],
  ['image/png', 'images'],
  ['image/svg+xml', 'images'],
  ['audio/mpeg', 'media'],
  ['video/mp4', 'media'],
  ['application/octet-stream', 'other'],
  ['application/zip', 'other'],
  ['application/vnd.ms-fontobject', 'other'],
  ['application/x-pdf', 'other'],
  ['application/pdfx', 'other'],
  ['font/woff2', 'other']
] as const

test.each(EXAMPLES)('%s is of the kind %s (contract 4)', (mimeType, kind) => {
  expect(kindOfMimeType(mimeType)).toBe(kind)
})

test('every kind of the scope table has an example above', () => {
  expect([...new Set(EXAMPLES.map(([, kind]) => kind))].sort()).toEqual([...FILE_KINDS].sort())
})
