import { expect, test } from '@jest/globals'
import { countsOf, exitCodeOf } from '../src/run-checks.js'
import { runAgainst } from './support/run.js'

const only = ['metadata-issuer']
const fault = 'names another issuer'

test('a failed check is exit code 1', async () => {
  const report = await runAgainst({ fault, only })
  expect(countsOf(report).failed).toBe(1)
  expect(exitCodeOf(report)).toBe(1)
})

test('an expected failure is exit code 0', async () => {
  const report = await runAgainst({ fault, only, expectedFailures: only })
  expect(countsOf(report).expected).toBe(1)
  expect(exitCodeOf(report)).toBe(0)
})

test('an expected failure that passes is exit code 1', async () => {
  const report = await runAgainst({ only, expectedFailures: only })
  expect(countsOf(report).stale).toBe(1)
  expect(exitCodeOf(report)).toBe(1)
})

test('an expected failure that is skipped stays skipped', async () => {
  const skipped = ['code-state']
  const report = await runAgainst({ only: [...only, ...skipped], expectedFailures: skipped, signsIn: false })
  expect(countsOf(report)).toMatchObject({ passed: 1, skipped: 1, stale: 0 })
  expect(exitCodeOf(report)).toBe(0)
})

test('a run in which everything was skipped is exit code 2', async () => {
  const report = await runAgainst({ only: ['code-state'], clients: undefined })
  expect(countsOf(report)).toMatchObject({ passed: 0, skipped: 1 })
  expect(exitCodeOf(report)).toBe(2)
})
