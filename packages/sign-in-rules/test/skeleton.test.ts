import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { skeleton, userNameKey } from '../src/skeleton.js'

test.each([
  ['раураl', 'paypal'],
  ['ꓖꓳꓳꓖ', 'GOOG'],
  ['m', 'rn'],
  ['a\u200db', 'ab'],
  ['I1|', 'lll']
])('skeleton: %s is %s (UTS #39 §4)', (text, expected) => {
  expect(skeleton(text)).toBe(expected)
})

test('user names: a letter or digit with a compatibility decomposition has the key of that letter or digit', () => {
  const points = Array.from({ length: 0x20000 }, (_, point) => String.fromCodePoint(point))
  const styled = points.filter((character) => /^[a-z0-9]$/i.test(character.normalize('NFKD')))
  const different = styled.filter((character) => userNameKey(character) !== userNameKey(character.normalize('NFKD')))
  // The long s looks like an f, and three letters in circles like the signs ©, ℗ and ®: they have those keys.
  expect(different).toEqual(['ſ', 'Ⓒ', 'Ⓟ', 'Ⓡ'])
})

test('skeleton: canonically equivalent texts have one (UTS #39 §4)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (text) => {
      expect(skeleton(text.normalize('NFD'))).toBe(skeleton(text.normalize('NFC')))
    })
  )
})

test.each([
  ['Alice', 'alice'],
  ['аlice', 'alice'],
  ['aIice', 'alice'],
  ['аӏісе', 'alice'],
  ['ＡＬＩＣＥ', 'alice'],
  ['ꓮꓡꓲꓚꓰ', 'alice'],
  ['rnarna', 'mama']
])('user names: %s and %s have one key', (one, other) => {
  expect(userNameKey(one)).toBe(userNameKey(other))
})

test.each([
  ['nora.berg', 'noraberg'],
  ['josé', 'jose'],
  ['alice', 'alice-2'],
  ['official', 'official-app']
])('user names: %s and %s have different keys', (one, other) => {
  expect(userNameKey(one)).not.toBe(userNameKey(other))
})
