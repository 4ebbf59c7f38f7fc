import { expect, test } from '@jest/globals'
import { foldCase } from '../src/fold-case.js'

test.each([
  ['ASCII', 'Nora', 'nora'],
  ['a sharp s in both cases', '\u00df\u1e9e', 'ssss'],
  ['a sigma in each form', '\u03a3\u03c3\u03c2', '\u03c3\u03c3\u03c3'],
  ['a ligature', '\ufb03', 'ffi'],
  ['a letter of Cherokee', '\uab70', '\u13a0'.toLowerCase()],
  ['a dotless i', '\u0131', '\u0131']
])('case folding of %s', (_, text, folded) => {
  expect(foldCase(text)).toBe(folded)
})
