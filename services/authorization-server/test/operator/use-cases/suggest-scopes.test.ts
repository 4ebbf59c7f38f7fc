import { expect, test } from '@jest/globals'
import { didYouMean, suggestScopes } from '../../../src/operator/use-cases/suggest-scopes.js'

const KNOWN = ['files.read', 'files.read:images', 'files.read:videos', 'reports.read', 'reports.write', 'id']

test.each([
  { name: 'one letter is missing', given: 'file.read', suggested: ['files.read'] },
  { name: 'one letter too many', given: 'filess.read', suggested: ['files.read'] },
  { name: 'one letter is another', given: 'files.reed', suggested: ['files.read'] },
  { name: 'two letters are swapped', given: 'flies.read', suggested: ['files.read'] },
  { name: 'another separator', given: 'files:read', suggested: ['files.read'] },
  { name: 'another case', given: 'Reports.Read', suggested: ['reports.read', 'reports.write'] },
  { name: 'the end of a name', given: 'read:videos', suggested: ['files.read:videos'] },
  { name: 'the end of a name that is like another', given: 'images', suggested: ['files.read:images'] },
  {
    name: 'the start of several names, the most alike first',
    given: 'files',
    suggested: ['files.read', 'files.read:images', 'files.read:videos']
  },
  { name: 'a name with an ending', given: 'reports.write.all', suggested: ['reports.write'] },
  { name: 'at most three', given: 'read', suggested: ['files.read', 'reports.read', 'files.read:images'] },
  { name: 'two letters, in many names', given: 'ad', suggested: [] },
  { name: 'a word with a short name in it', given: 'candid', suggested: [] },
  { name: 'nothing alike', given: 'calendar', suggested: [] },
  { name: 'longer than names are', given: `files.read${'x'.repeat(100)}`, suggested: [] },
  { name: 'empty', given: '', suggested: [] }
])('names like an unknown one: $name', ({ given, suggested }) => {
  expect(suggestScopes(given, KNOWN)).toEqual(suggested)
})

test('no name is like another in an empty catalogue', () => {
  expect(suggestScopes('files.read', [])).toEqual([])
})

test('a hint for several unknown names has each suggestion once, of the first ten names', () => {
  const far = Array.from({ length: 9 }, (_, index) => `calendar${index}`)
  expect(didYouMean(['file.read', 'flies.read'], KNOWN)).toBe('did you mean files.read?')
  expect(didYouMean(['file.read', 'reports.rite'], KNOWN)).toBe(
    'did you mean files.read or reports.write or reports.read?'
  )
  expect(didYouMean([...far, 'file.read'], KNOWN)).toBe('did you mean files.read?')
  expect(didYouMean([...far, 'calendar', 'file.read'], KNOWN)).toBeUndefined()
})
