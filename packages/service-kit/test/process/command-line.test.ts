import { EventEmitter } from 'node:events'
import { describe, expect, jest, test } from '@jest/globals'
import { ConfigurationError, exitOnClosedPipe, linesOfFailure, printResult } from '../../src/index.js'

test.each([
  { json: true, output: '{\n  "applied": []\n}\n' },
  { json: undefined, output: 'one\ntwo\n' }
])('printResult with json: $json', ({ json, output }) => {
  const parts: string[] = []
  printResult({ out: (text) => parts.push(text) }, json, { applied: [] }, ['one', 'two'])
  expect(parts.join('')).toBe(output)
})

describe('linesOfFailure:', () => {
  test.each([
    { name: 'all problems of the settings', error: new ConfigurationError(['A: b', 'C: d']), lines: ['A: b', 'C: d'] },
    { name: 'an error', error: new Error('it broke'), lines: ['it broke'] },
    {
      name: 'an error with a cause',
      error: new Error('it broke', { cause: new Error('of that') }),
      lines: ['it broke (of that)']
    },
    {
      name: 'an error whose cause has no message',
      error: new Error('it broke', { cause: new Error('') }),
      lines: ['it broke']
    },
    { name: 'a thrown string', error: 'words', lines: ['words'] }
  ])('$name', ({ error, lines }) => {
    expect(linesOfFailure(error)).toEqual(lines)
  })
})

describe('exitOnClosedPipe:', () => {
  const systemError = (code: string) => Object.assign(new Error(code), { code })

  test('EPIPE ends the process with the exit code', () => {
    const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never)
    const output = new EventEmitter()
    exitOnClosedPipe(output, 7)
    output.emit('error', systemError('EPIPE'))
    expect(exit.mock.calls).toEqual([[7]])
    exit.mockRestore()
  })

  test('another error is thrown', () => {
    const output = new EventEmitter()
    exitOnClosedPipe(output, 7)
    expect(() => output.emit('error', systemError('ENOSPC'))).toThrow('ENOSPC')
  })
})
