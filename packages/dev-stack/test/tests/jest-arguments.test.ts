import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { fileSelection, picksByName } = await library('tests/jest-arguments')

test('only -t and its long form select tests by name', () => {
  expect(picksByName(['-t', 'x'])).toBe(true)
  expect(picksByName(['--testNamePattern=x'])).toBe(true)
  expect(picksByName(['packages/dev-stack', '--silent'])).toBe(false)
})

test('the selection of files is without names, reports and workers', () => {
  const others = ['-t', 'x', '--testNamePattern=y', '--json', '--outputFile', 'f', '--outputFile=g', '-w', '1']
  expect(fileSelection(['guard', ...others, '--shard=1/2', 'flows'])).toEqual(['guard', '--shard=1/2', 'flows'])
})
