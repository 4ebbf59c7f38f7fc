import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { formatScope, isScopeToken, isWithinScope, parseScope } from '../src/scope.js'

test.each([
  { text: 'a', scope: ['a'] },
  { text: 'files.read', scope: ['files.read'] },
  { text: 'files.read:documents files.read:images', scope: ['files.read:documents', 'files.read:images'] },
  { text: 'b a', scope: ['b', 'a'] },
  { text: 'a b a', scope: ['a', 'b'] },
  { text: 'a A', scope: ['a', 'A'] },
  { text: '! # [ ] ~', scope: ['!', '#', '[', ']', '~'] }
])('scope: "$text" is parsed as $scope, in order and without duplicates (RFC 6749 §3.3)', ({ text, scope }) => {
  expect(parseScope(text)).toEqual(scope)
})

test.each([
  { name: 'nothing', text: '' },
  { name: 'a space only', text: ' ' },
  { name: 'a space at the start', text: ' a' },
  { name: 'a space at the end', text: 'a ' },
  { name: 'two spaces', text: 'a  b' },
  { name: 'a tab', text: 'a\tb' },
  { name: 'a line break', text: 'a\nb' },
  { name: 'a line break at the end', text: 'a\n' },
  { name: 'a no-break space', text: 'a\u00a0b' },
  { name: 'a quotation mark', text: 'a "b"' },
  { name: 'a backslash', text: 'a\\b' },
  { name: 'a letter outside ASCII', text: 'é' },
  { name: 'NUL', text: 'a\u0000' },
  { name: 'DEL', text: 'a\u007f' }
])('scope: $name is malformed (RFC 6749 §3.3)', ({ text }) => {
  expect(parseScope(text)).toBeUndefined()
})

test('scope: a token may contain exactly %x21, %x23-5B and %x5D-7E (RFC 6749 §3.3)', () => {
  const allowed = Array.from({ length: 256 }, (_, code) => code).filter((code) =>
    isScopeToken(String.fromCharCode(code))
  )
  const between = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)
  expect(allowed).toEqual([0x21, ...between(0x23, 0x5b), ...between(0x5d, 0x7e)])
  expect(isScopeToken('')).toBe(false)
  expect(isScopeToken('a b')).toBe(false)
})

const token = fc.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]{1,12}$/)

test('scope: an encoded scope is parsed to the same scope', () => {
  fc.assert(
    fc.property(fc.uniqueArray(token, { minLength: 1 }), (scope) => {
      expect(parseScope(formatScope(scope))).toEqual(scope)
    })
  )
})

test.each([
  { asked: ['a'], allowed: ['a', 'b'], within: true },
  { asked: ['b', 'a'], allowed: ['a', 'b'], within: true },
  { asked: [], allowed: ['a'], within: true },
  { asked: ['a', 'c'], allowed: ['a', 'b'], within: false },
  { asked: ['c', 'a'], allowed: ['a', 'b'], within: false },
  { asked: ['a'], allowed: [], within: false },
  { asked: ['A'], allowed: ['a'], within: false },
  { asked: ['files.read:documents'], allowed: ['files.read'], within: false },
  { asked: ['files.read'], allowed: ['files.read:documents'], within: false },
  { asked: ['a b'], allowed: ['a', 'b'], within: false }
])('scope: $asked within $allowed is $within, token by token (RFC 6749 §6)', ({ asked, allowed, within }) => {
  expect(isWithinScope(asked, allowed)).toBe(within)
})
