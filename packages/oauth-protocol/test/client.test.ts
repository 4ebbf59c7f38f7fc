import { expect, test } from '@jest/globals'
import { type Client, isClientIdentifier, lifetimesOf, remembersConsent, scopesOf } from '../src/client.js'
import { CLIENT } from './authorization-fixture.js'

test.each([
  { name: 'every unreserved character', value: 'aZ09-._~', valid: true },
  { name: 'an id of another server', value: '123-abc.apps.example.com', valid: true },
  { name: 'three dots', value: '...', valid: true },
  { name: 'one character', value: 'a', valid: true },
  { name: '128 characters', value: 'a'.repeat(128), valid: true },
  { name: 'nothing', value: '', valid: false },
  { name: '129 characters', value: 'a'.repeat(129), valid: false },
  { name: 'a colon', value: 'a:b', valid: false },
  { name: 'a plus sign', value: 'a+b', valid: false },
  { name: 'a percent sign', value: 'a%62', valid: false },
  { name: 'a space', value: 'a b', valid: false },
  { name: 'a dot segment', value: '.', valid: false },
  { name: 'the parent segment', value: '..', valid: false },
  { name: 'a slash', value: 'a/b', valid: false },
  { name: 'a URL', value: 'https://app.example/client', valid: false },
  { name: 'a letter outside ASCII', value: 'é', valid: false },
  { name: 'a NUL', value: 'a\u0000', valid: false },
  { name: 'a line break at the end', value: 'a\n', valid: false }
])('client identifier: $name gives $valid (RFC 3986 §2.3)', (given) => {
  expect(isClientIdentifier(given.value)).toBe(given.valid)
})

test.each([
  { name: 'no own lifetimes', own: undefined, expected: [3600, 7200, 86_400] },
  { name: 'shorter lifetimes', own: [60, 120, 180], expected: [60, 120, 180] },
  { name: 'longer lifetimes', own: [3601, 7201, 86_401], expected: [3600, 7200, 86_400] },
  { name: 'only an idle lifetime', own: [undefined, 120, undefined], expected: [3600, 120, 86_400] }
])('lifetimesOf: a client with $name gets $expected', ({ own, expected }) => {
  const [accessToken, refreshTokenIdle, refreshTokenMax] = own ?? []
  const client = { lifetimes: own && { accessToken, refreshTokenIdle, refreshTokenMax } }
  const found = lifetimesOf(client, { accessToken: 3600, refreshTokenIdle: 7200, refreshTokenMax: 86_400 })
  expect(Object.values(found)).toEqual(expected)
})

test('scopesOf: gives the required and then the optional scopes', () => {
  expect(scopesOf({ ...CLIENT, requiredScopes: ['a', 'b'], optionalScopes: ['c'] })).toEqual(['a', 'b', 'c'])
})

test.each<{ change: Pick<Client, 'type' | 'consent'>; expected: boolean }>([
  { change: { type: 'confidential', consent: 'remember' }, expected: true },
  { change: { type: 'confidential', consent: 'ask' }, expected: false },
  { change: { type: 'public', consent: 'remember' }, expected: false },
  { change: { type: 'public', consent: 'ask' }, expected: false }
])(
  'remembersConsent: a $change.type client with consent "$change.consent" gives $expected (RFC 8252 §8.6)',
  (given) => {
    expect(remembersConsent(given.change)).toBe(given.expected)
  }
)
