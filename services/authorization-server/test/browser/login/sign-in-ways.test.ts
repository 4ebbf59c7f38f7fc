import { expect, test } from '@jest/globals'
import { onlyForeignWay, orderedWays, startPath, wayCookieValue } from '../../../src/browser/login/sign-in-ways.js'

const A = { id: 'a', label: 'A' }
const B = { id: 'b', label: 'B' }
const PAGE = { id: 'handoff', label: 'Login page' }

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

test('each way has its own path', () => {
  expect(startPath(A)).toBe('/login/with/a')
  expect(startPath(PAGE)).toBe('/login/handoff')
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
