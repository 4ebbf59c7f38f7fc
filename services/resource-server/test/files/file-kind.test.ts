import { expect, test } from '@jest/globals'
import { kindOfMimeType } from '../../src/files/file-kind.js'

test.each([
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
])('%s is of the kind %s (contract: scopes by MIME type)', (mimeType, kind) => {
  expect(kindOfMimeType(mimeType)).toBe(kind)
})
