import { expect, test } from '@jest/globals'
import { mayRemoveWay } from '../src/may-remove-way.js'

test.each([
  { ways: { hasPassword: true, passkeys: 0, identities: 0 }, may: false },
  { ways: { hasPassword: false, passkeys: 1, identities: 0 }, may: false },
  { ways: { hasPassword: false, passkeys: 0, identities: 1 }, may: false },
  { ways: { hasPassword: false, passkeys: 0, identities: 0 }, may: false },
  { ways: { hasPassword: true, passkeys: 1, identities: 0 }, may: true },
  { ways: { hasPassword: true, passkeys: 0, identities: 1 }, may: true },
  { ways: { hasPassword: false, passkeys: 2, identities: 0 }, may: true },
  { ways: { hasPassword: false, passkeys: 1, identities: 1 }, may: true }
])('a way may be removed if another one is left: $ways', ({ ways, may }) => {
  expect(mayRemoveWay(ways)).toBe(may)
})

test.each([
  { ways: { hasPassword: false, passkeys: 0, identities: 0 }, may: false },
  { ways: { hasPassword: false, passkeys: 0, identities: 1 }, may: true },
  { ways: { hasPassword: true, passkeys: 0, identities: 0 }, may: true }
])('an identity that cannot be used may be removed beside any other way: $ways', ({ ways, may }) => {
  expect(mayRemoveWay(ways, false)).toBe(may)
})
