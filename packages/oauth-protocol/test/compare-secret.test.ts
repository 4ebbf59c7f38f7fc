import { expect, test } from '@jest/globals'
import { findMatchingSecret } from '../src/compare-secret.js'
import { hashToken } from '../src/opaque-token.js'

const first = hashToken('first')
const second = hashToken('second')
const other = hashToken('other')
const presented = hashToken('first')
const unknown = hashToken('unknown')

test.each([
  { name: 'no stored hash', stored: [], leastComparisons: 2, expected: false },
  { name: 'no stored hash and no comparison', stored: [], leastComparisons: 0, expected: false },
  { name: 'the only stored hash', stored: [first], leastComparisons: 1, expected: true },
  { name: 'the first of two', stored: [first, second], leastComparisons: 2, expected: true },
  { name: 'the last of three', stored: [other, second, first], leastComparisons: 2, expected: true },
  { name: 'a stored value that is no hash', stored: [Buffer.from('first')], leastComparisons: 1, expected: false },
  { name: 'none of two', stored: [other, second], leastComparisons: 2, expected: false },
  { name: 'none of one, with a missing second', stored: [second], leastComparisons: 2, expected: false }
])('findMatchingSecret: $name gives $expected', ({ stored, leastComparisons, expected }) => {
  const found = expected ? presented : undefined
  expect(findMatchingSecret([presented], stored, leastComparisons)).toBe(found)
  // The order of the readings makes no difference.
  expect(findMatchingSecret([presented, unknown], stored, leastComparisons)).toBe(found)
  expect(findMatchingSecret([unknown, presented], stored, leastComparisons)).toBe(found)
  expect(findMatchingSecret([], stored, leastComparisons)).toBeUndefined()
})
