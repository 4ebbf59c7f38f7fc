import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { slowestLines, slowestOf } = await library('tests/slowest-suites')

const suites = Array.from({ length: 12 }, (_, index) => ({ file: `suite-${index}.test.ts`, seconds: index * 10.4 }))

test('the slowest suites are the ten with the longest times, the slowest first', () => {
  expect(slowestOf(suites).map(({ seconds }: { seconds: number }) => seconds)).toEqual(
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((index) => index * 10.4)
  )
})

test('a run of many suites prints one line for each of the slowest, in whole seconds', () => {
  const lines = slowestLines(suites)
  expect(lines).toHaveLength(11)
  expect(lines.slice(0, 2)).toEqual(['Slowest suites:', '   114 s  suite-11.test.ts'])
  expect(lines.at(-1)).toBe('    21 s  suite-2.test.ts')
})

test('a run of fewer than ten suites prints no list', () => {
  expect(slowestLines(suites.slice(0, 9))).toEqual([])
})
