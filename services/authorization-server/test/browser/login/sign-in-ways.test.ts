import { expect, test } from '@jest/globals'
import {
  type FormWay,
  onlyForeignWay,
  orderedWays,
  signInWays,
  wayCookieValue
} from '../../../src/browser/login/sign-in-ways.js'

const A = { kind: 'foreign', id: 'a', label: 'A', path: '/login/with/a' } as const
const B = { kind: 'foreign', id: 'b', label: 'B', path: '/login/with/b' } as const
const PAGE = { kind: 'foreign', id: 'handoff', label: 'Login page', path: '/login/handoff' } as const
const FORM = { kind: 'form', id: 'passkey' } as FormWay

test('a single way that is not local needs no choice', () => {
  expect(onlyForeignWay({ local: false, foreign: [A] })).toBe(A)
  expect(onlyForeignWay({ local: true, foreign: [A] })).toBeUndefined()
  expect(onlyForeignWay({ local: false, foreign: [A, B] })).toBeUndefined()
  expect(onlyForeignWay({ local: true, foreign: [] })).toBeUndefined()
})

test.each([
  [undefined, true, [A, B, PAGE]],
  ['local', true, [A, B, PAGE]],
  ['b', false, [B, A, PAGE]],
  ['handoff', false, [PAGE, A, B]],
  ['removed', true, [A, B, PAGE]]
])('after the last way %s, that way comes first', (last, localFirst, foreign) => {
  expect(orderedWays({ local: true, foreign: [A, B, PAGE] }, last)).toEqual({ localFirst, foreign })
})

test('without local sign-in, its form is never first', () => {
  expect(orderedWays({ local: false, foreign: [A, B] }, undefined).localFirst).toBe(false)
})

test('forms belong to local accounts', () => {
  expect(signInWays(true, [A, FORM, PAGE])).toEqual({ local: true, foreign: [A, PAGE], forms: [FORM] })
  expect(signInWays(false, [A, FORM])).toEqual({ local: false, foreign: [A], forms: [] })
})

test('the cookie names the way and not the user', () => {
  expect(
    wayCookieValue({
      kind: 'provider',
      id: 'a',
      issuer: 'https://a.example',
      subject: 'bob',
      issuedAt: 0,
      startedAt: 0
    })
  ).toBe('a')
  expect(wayCookieValue({ kind: 'handoff', issuer: 'https://a.example', subject: 'bob' })).toBe('handoff')
  expect(wayCookieValue({ kind: 'password' })).toBe('local')
})
