import { expect, test } from '@jest/globals'
import { readPasskeyName } from '../src/passkey-name.js'

test.each([
  { typed: 'Laptop', name: 'Laptop' },
  { typed: '  my \t old\nlaptop ', name: 'my old laptop' },
  { typed: 'a\u202eb\u0000c', name: 'abc' },
  { typed: 'e\u0301', name: '\u00e9' },
  { typed: '👩‍💻', name: '👩‍💻' },
  { typed: '👩'.repeat(60), name: '👩'.repeat(60) }
])('the name of a passkey has no control characters and single blanks: $typed', ({ typed, name }) => {
  expect(readPasskeyName(typed)).toBe(name)
})

test.each([undefined, '', '  ', '\u202e', 'x'.repeat(61)])('the name %p is refused: empty or too long', (typed) => {
  expect(readPasskeyName(typed)).toBeUndefined()
})
