import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { causeOf, codeOf, messageOf } from '../lib/error-code.mjs'

/** Errors of Node belong to another realm in Jest, so they are no instances of this Error. */
function errorOf(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

test('codeOf and messageOf read a system error of another realm', () => {
  const error = errorOf(() => readFileSync('/nowhere/at/all'))
  expect(codeOf(error)).toBe('ENOENT')
  expect(messageOf(error)).toContain('no such file')
})

test('causeOf finds the system error behind a failed fetch', async () => {
  const error = await fetch('http://127.0.0.1:1/').catch((failure: unknown) => failure)
  expect(messageOf(causeOf(error))).not.toBe(messageOf(error))
})

test.each([undefined, null, 'text', 7])('codeOf %p is empty', (value) => {
  expect(codeOf(value)).toBe('')
  expect(messageOf(value)).toBe(String(value))
})
