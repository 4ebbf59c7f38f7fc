import { expect, test } from '@jest/globals'
import { toTap } from '../../src/report/tap.js'
import { exampleReport } from '../support/example-report.js'

test('TAP has a plan, one point for each check, and the exchanges of those that did not pass', () => {
  const lines = toTap(exampleReport).trimEnd().split('\n')
  expect(lines.slice(0, 2)).toEqual(['TAP version 14', '1..6'])
  expect(lines.filter((line) => /^(not )?ok/.test(line)).map((line) => line.replace(/: is .*\\#1/, ''))).toEqual([
    'ok 1 - a',
    'not ok 2 - b',
    'not ok 3 - c # TODO expected failure: known to us',
    'not ok 4 - d',
    'ok 5 - e # SKIP needs --sign-in',
    'not ok 6 - f'
  ])
  expect(lines.filter((line) => line === '  ---')).toHaveLength(4)
  expect(lines.at(-1)).toBe('# 1 passed, 1 failed, 1 expected, 1 stale, 1 skipped, 1 not tested')
})
