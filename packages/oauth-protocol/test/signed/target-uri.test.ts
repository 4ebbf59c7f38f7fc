import { expect, test } from '@jest/globals'
import { comparableTargetUri } from '../../src/signed/target-uri.js'

const EXPECTED = 'https://api.example/v1/~files'

test.each([
  'https://api.example/v1/~files',
  'HTTPS://API.EXAMPLE/v1/~files',
  'https://api.example:443/v1/~files',
  'https://api.example/v1/%7Efiles',
  'https://api.example/v1/%7efiles',
  'https://api.example/v1/./x/../~files',
  'https://api.example/v1/%2E/~files',
  'https://api.example/v1/~files?page=2',
  'https://api.example/v1/~files#top'
])('%s is the same target as https://api.example/v1/~files', (uri) => {
  expect(comparableTargetUri(uri)).toBe(EXPECTED)
})

test.each([
  'http://api.example/v1/~files',
  'https://api.example:8443/v1/~files',
  'https://api.example/v1/~files/',
  'https://api.example/V1/~files',
  'https://api.example/v1//~files',
  'https://api.example/v1%2F~files'
])('%s is another target', (uri) => {
  expect(comparableTargetUri(uri)).toBeDefined()
  expect(comparableTargetUri(uri)).not.toBe(EXPECTED)
})

test('Two spellings of an encoded octet are the same target', () => {
  expect(comparableTargetUri('https://api.example/a%2fb')).toBe(comparableTargetUri('https://api.example/a%2Fb'))
})

test('An origin without a path has the path /', () => {
  expect(comparableTargetUri('https://api.example')).toBe('https://api.example/')
})

test.each([
  '',
  '/v1/~files',
  'ftp://api.example/v1',
  'https:api.example',
  'https://user@api.example/v1',
  'https://@api.example/v1',
  'https://user:pass@api.example/v1',
  'https://api.example\\v1',
  'https://api.example/v1/fi\tles',
  'https://api.example/v1\n',
  ' https://api.example/v1',
  'https://',
  'https://api.example:99999/'
])('%j is no target', (uri) => {
  expect(comparableTargetUri(uri)).toBeUndefined()
})
