import { expect, test } from '@jest/globals'
import { dpopHeaders, readDpopCredentials } from '../src/dpop-credentials.js'

const token = (accessToken: string) => ({ kind: 'token', accessToken })

test.each([
  { header: 'DPoP abc', expected: token('abc') },
  { header: 'dpop   aZ09-._~+/==', expected: token('aZ09-._~+/==') },
  { header: 'DPoP', expected: { kind: 'malformed' } },
  { header: 'DPoP a b', expected: { kind: 'malformed' } },
  { header: 'DPoP a=b', expected: { kind: 'malformed' } },
  { header: 'DPoP\tabc', expected: { kind: 'malformed' } },
  { header: 'DPoP abc, Bearer abc', expected: { kind: 'malformed' } },
  { header: 'DPoPs abc', expected: { kind: 'other_scheme' } },
  { header: 'DPoP-Token abc', expected: { kind: 'other_scheme' } },
  { header: 'Basic DPoP', expected: { kind: 'other_scheme' } }
])('The credentials "$header" are $expected (RFC 9449 §7.1)', ({ header, expected }) => {
  expect(readDpopCredentials(header)).toEqual(expected)
})

test('dpopHeaders returns every DPoP header, whatever the case of its name', () => {
  expect(dpopHeaders(['DPoP', 'a', 'Host', 'dpop', 'dpop', ''])).toEqual(['a', ''])
})
