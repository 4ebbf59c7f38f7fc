import { describe, expect, test } from '@jest/globals'
import { ConfigurationError, linesOfFailure, printResult } from '../../src/index.js'

test.each([
  { json: true, said: '{\n  "applied": []\n}\n' },
  { json: undefined, said: 'one\ntwo\n' }
])('a result with json $json', ({ json, said }) => {
  const parts: string[] = []
  printResult({ out: (text) => parts.push(text) }, json, { applied: [] }, ['one', 'two'])
  expect(parts.join('')).toBe(said)
})

describe('what a person is told of a failure', () => {
  test.each([
    { name: 'every problem of the settings', error: new ConfigurationError(['A: b', 'C: d']), lines: ['A: b', 'C: d'] },
    { name: 'an error', error: new Error('it broke'), lines: ['it broke'] },
    { name: 'its cause', error: new Error('it broke', { cause: new Error('of that') }), lines: ['it broke (of that)'] },
    { name: 'no cause that says nothing', error: new Error('it broke', { cause: new Error('') }), lines: ['it broke'] },
    { name: 'something else that was thrown', error: 'words', lines: ['words'] }
  ])('$name', ({ error, lines }) => {
    expect(linesOfFailure(error)).toEqual(lines)
  })
})
