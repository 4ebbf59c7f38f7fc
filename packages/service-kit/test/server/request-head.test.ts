import { expect, test } from '@jest/globals'
import { problemOfHead } from '../../src/server/request-head.js'

const head = (...rawHeaders: string[]) => problemOfHead({ httpVersion: '1.1', rawHeaders })

test.each([
  'localhost',
  'localhost:4000',
  'auth.example',
  'AUTH.example:',
  '127.0.0.1:80',
  '[::1]',
  '[2001:db8::1]:443',
  'under_score',
  'a-b.c~d',
  'a%2Db',
  "a!$&'()*+,;="
])('Host: %s is valid (RFC 9112 3.2, RFC 3986 3.2.2)', (host) => {
  expect(head('Accept', '*/*', 'Host', host)).toBeUndefined()
})

test.each([
  '',
  ':80',
  'a b',
  'a, b',
  'a/b',
  'a?b',
  'a#b',
  'user@host',
  'http://host',
  'host:port',
  'host:80:80',
  'a%2',
  'a%zz',
  '::1',
  '[::1',
  '[::1]x',
  '[]',
  '[:::]',
  '[127.0.0.1]',
  '[fe80::1%25eth0]',
  'é',
  'a\tb',
  'a\\b',
  'a"b',
  '<a>'
])('Host: %j is invalid', (host) => {
  expect(head('Host', host)).toBe('BAD_HOST')
})

test.each([
  { name: 'no Host', rawHeaders: ['Accept', '*/*'], problem: 'NO_HOST' },
  { name: 'two Hosts', rawHeaders: ['Host', 'a', 'host', 'a'], problem: 'REPEATED_HOST' },
  { name: 'a second, empty Host', rawHeaders: ['Host', 'a', 'HOST', ''], problem: 'REPEATED_HOST' },
  {
    name: 'two Content-Types',
    rawHeaders: ['Host', 'a', 'Content-Type', 'b', 'content-type', 'b'],
    problem: 'REPEATED_TYPE'
  },
  { name: 'values that are names of headers', rawHeaders: ['Host', 'host', 'Vary', 'host'], problem: undefined }
])('$name', ({ rawHeaders, problem }) => {
  expect(head(...rawHeaders)).toBe(problem)
})

test('HTTP/1.0 may omit Host, but not repeat it', () => {
  expect(problemOfHead({ httpVersion: '1.0', rawHeaders: [] })).toBeUndefined()
  expect(problemOfHead({ httpVersion: '1.0', rawHeaders: ['Host', 'a', 'Host', 'b'] })).toBe('REPEATED_HOST')
})
