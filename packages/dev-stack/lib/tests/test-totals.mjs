// From Jest's report to the two closing lines of npm test.
import { testsWithoutProgram } from './program-tests.mjs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Totals */

/**
 * @param report Jest's JSON report, or undefined if it left none
 * @param {boolean} endedWell whether Jest ended with 0
 * @returns {Totals}
 */
export function totalsOf(report, endedWell) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 }
  // A file that could not even be run is a failure, though Jest counts none of its tests.
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites
  const skipped = report.numPendingTests + report.numTodoTests
  const unexplained = failed === 0 && !endedWell && report.numTotalTests > 0 ? 1 : 0
  return { passed: report.numPassedTests, failed: failed + unexplained, skipped }
}

/**
 * @param {Totals[]} runs
 * @param options `redisUrl`, `mayPick`, and where this machine has each program that tests need
 */
export function closingLines(runs, { redisUrl, mayPick, ...programs }) {
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0)
  const missing = [
    ...testsWithoutProgram(programs).map(({ missing }) => missing),
    ...(redisUrl === undefined
      ? ['store tests on a real Redis, because redis-server is not on PATH (they ran on the emulation)']
      : [])
  ]
  // What cannot run is left out by its file. So only a caller who picked tests by name explains a skipped one.
  const unexplained = mayPick ? 0 : sum('skipped')
  const failed = sum('failed') + unexplained
  return {
    lines: [
      ...(unexplained > 0 ? [`Skipped tests, counted as failed: ${unexplained}`] : []),
      missing.length > 0 ? `Not run: ${missing.join('; ')}.` : 'All tests could run.',
      `${sum('passed')} passed, ${failed} failed`
    ],
    code: failed > 0 || sum('passed') === 0 ? 1 : 0
  }
}

/** Whether these arguments for Jest pick tests by name; it reports all others as skipped. */
export const picksByName = (args) => args.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg))
