import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cleanDisplayName, usernameCandidates } from '../src/provider-names.js'

describe('display name of a provider', () => {
  test.each([
    { name: 'a plain name', given: 'Alice Example', cleaned: 'Alice Example' },
    { name: 'blanks around it', given: '  Alice \t\n Example ', cleaned: 'Alice Example' },
    { name: 'bidi controls', given: 'Alice\u202eelpmaxE\u2066', cleaned: 'Alice elpmaxE' },
    { name: 'control characters', given: 'Al\u0000ice\u001b[31m', cleaned: 'Al ice [31m' },
    { name: 'a decomposed character', given: 'A\u0308nne', cleaned: 'Änne' },
    { name: 'only invisible characters', given: '\u200b\u2066 ', cleaned: undefined },
    { name: 'only characters that are not shown', given: '\u3164\u115f', cleaned: undefined },
    { name: 'joiners, which scripts and emoji need', given: 'می\u200cخواهم', cleaned: 'می\u200cخواهم' },
    { name: 'an empty text', given: '', cleaned: undefined },
    { name: 'a number', given: 7, cleaned: undefined },
    { name: 'no claim', given: undefined, cleaned: undefined }
  ])('with $name is cleaned', ({ given, cleaned }) => {
    expect(cleanDisplayName(given)).toBe(cleaned)
  })

  test('of any text has at most 100 characters, none of them unwanted and no half of one', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (given) => {
        const name = cleanDisplayName(given) ?? 'x'
        expect(name.length).toBeLessThanOrEqual(100)
        expect(name).toMatch(/\S/)
        expect(name).not.toMatch(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u)
      })
    )
  })
})

describe('user names for a new user', () => {
  test.each([
    { name: 'an unassigned character', given: 'ali\u0378ce' },
    { name: 'a canonical form that no index can store', given: 'ﷺ'.repeat(80) }
  ])('do not use a name with $name', ({ given }) => {
    expect(usernameCandidates(given, ['1a2b'])).toEqual(['user-1a2b'])
  })

  test('are the name, the name with a number, and the name with a random suffix', () => {
    expect(usernameCandidates('alice', ['1a2b'])).toEqual([
      'alice',
      'alice-2',
      'alice-3',
      'alice-4',
      'alice-5',
      'alice-1a2b'
    ])
  })

  test('have no characters that are not shown, so that none looks like that of another user', () => {
    expect(usernameCandidates('al\u200bi\u00adce\u2060\ufeff', ['1a2b'])[0]).toBe('alice')
  })

  test('are random without a usable claim', () => {
    expect(usernameCandidates({ alice: 1 }, ['1a2b', '3c4d'])).toEqual(['user-1a2b', 'user-3c4d'])
  })

  test.each(['аlice', 'аlice.berg', 'ꓮlice'])('are random for %s, which mixes scripts (UTS #39 §5.2)', (given) => {
    expect(usernameCandidates(given, ['1a2b'])).toEqual(['user-1a2b'])
  })

  test.each(['алиса', 'علي', '山田', 'やまだ太郎', 'zoë.müller@example.org'])(
    'begin with %s, of one script',
    (given) => {
      expect(usernameCandidates(given, ['1a2b'])[0]).toBe(given)
    }
  )

  test('have at most 100 characters with their suffix', () => {
    const lengths = usernameCandidates('é'.repeat(5_000), ['12345678']).map(({ length }) => length)
    expect(Math.max(...lengths)).toBe(100)
  })
})
