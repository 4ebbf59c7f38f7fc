import { expect, test } from '@jest/globals'
import { isClientIdentifier, scopesOf } from '../src/client.js'
import { CLIENT } from './authorization-fixture.js'

test.each([
  { name: 'letters, digits, hyphen and underscore', value: 'aZ09-_', valid: true },
  { name: 'one character', value: 'a', valid: true },
  { name: '128 characters', value: 'a'.repeat(128), valid: true },
  { name: 'nothing', value: '', valid: false },
  { name: '129 characters', value: 'a'.repeat(129), valid: false },
  { name: 'a colon', value: 'a:b', valid: false },
  { name: 'a plus sign', value: 'a+b', valid: false },
  { name: 'a percent sign', value: 'a%62', valid: false },
  { name: 'a blank', value: 'a b', valid: false },
  { name: 'a dot', value: 'a.b', valid: false },
  { name: 'a letter outside ASCII', value: 'é', valid: false },
  { name: 'a NUL', value: 'a\u0000', valid: false },
  { name: 'a line break at the end', value: 'a\n', valid: false }
])('client identifier: $name is valid: $valid, for Basic must read both spellings alike (RFC 6749 §2.3.1)', (given) => {
  expect(isClientIdentifier(given.value)).toBe(given.valid)
})

test('client: its scopes are the required and the optional ones', () => {
  expect(scopesOf({ ...CLIENT, requiredScopes: ['a', 'b'], optionalScopes: ['c'] })).toEqual(['a', 'b', 'c'])
})
