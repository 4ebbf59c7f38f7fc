import { expect, test } from '@jest/globals'
import { EXCLUDED_BY_DEFAULT, excludedNames } from '../../../src/operator/cli/excluded-names.js'

test.each([
  { pattern: 'node_modules', yes: ['node_modules'], no: ['node_modules2', 'Node_modules', ''] },
  { pattern: '*.tmp', yes: ['a.tmp', '.tmp', '.a.tmp', 'a\nb.tmp'], no: ['a.tmp2', 'atmp'] },
  { pattern: '._*', yes: ['._a', '._'], no: ['.a', 'x._a', 'a_b'] },
  { pattern: '~$*', yes: ['~$report.docx'], no: ['report~$', '~report'] },
  { pattern: 'IMG_????.jpg', yes: ['IMG_0001.jpg'], no: ['IMG_001.jpg', 'IMG_00001.jpg'] },
  { pattern: 'a?', yes: ['a\u{1f600}', 'aä'], no: ['a'] },
  { pattern: '[a-c]*.[!ch]', yes: ['b.o', 'c1.x'], no: ['d.o', 'a.c', 'a.h'] },
  { pattern: '[]a]', yes: [']', 'a'], no: ['[]a]'] },
  { pattern: '[^x]', yes: ['y'], no: ['x'] },
  { pattern: 'a[b', yes: ['a[b'], no: ['ab'] },
  { pattern: '\\*', yes: ['*'], no: ['a', '\\*'] },
  { pattern: 'a+(b)|{c}.^$', yes: ['a+(b)|{c}.^$'], no: ['aab'] },
  { pattern: '*a*a*a*a*a*b', yes: ['aaaaab'], no: ['a'.repeat(255)] }
])('the pattern $pattern', ({ pattern, yes, no }) => {
  const isExcluded = excludedNames([pattern])
  for (const name of yes) expect([name, isExcluded(name)]).toEqual([name, true])
  for (const name of no) expect([name, isExcluded(name)]).toEqual([name, false])
})

test.each(['', 'a/b', 'node_modules/', '/'])('the pattern %j can never match a name and is refused', (pattern) => {
  expect(() => excludedNames([pattern])).toThrow('--exclude takes a pattern for one name')
})

test.each(['[z-a]'])('%j is no pattern', (pattern) => {
  expect(() => excludedNames([pattern])).toThrow('is not a pattern')
})

test('metadata of macOS and lock files of Office are excluded by default', () => {
  const isExcluded = excludedNames(EXCLUDED_BY_DEFAULT)
  expect(['._IMG_1.jpg', '~$letter.docx', 'IMG_1.jpg', 'letter.docx'].map(isExcluded)).toEqual([
    true,
    true,
    false,
    false
  ])
})
