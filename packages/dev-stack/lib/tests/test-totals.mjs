// Converts Jest's report to the last lines of npm test.
import { testsWithoutProgram } from './program-tests.mjs'

/** @import { Programs } from './program-tests.mjs' */
/** @typedef {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number, numPendingTests: number,
 *   numTodoTests: number, numTotalTests: number }} Report of Jest */

/** @typedef {{ passed: number, failed: number, skipped: number }} Totals */

/**
 * @param {boolean} endedWell whether Jest exited with 0
 * @returns {Totals}
 * @param {Report | undefined} report Jest's JSON report, or undefined if there is none
 */
export function totalsOf(report, endedWell) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 }
  // Jest counts no tests of a file that could not be loaded. Here such a file counts as one failure.
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites
  const skipped = report.numPendingTests + report.numTodoTests
  const unexplained = failed === 0 && !endedWell && report.numTotalTests > 0 ? 1 : 0
  return { passed: report.numPassedTests, failed: failed + unexplained, skipped }
}

/**
 * @param {Totals[]} runs
 * @param {{ redisUrl: string | undefined, mayPick: boolean } & Programs} options `redisUrl`, `mayPick`, and the path of each program that tests need
 */
export function closingLines(runs, { redisUrl, mayPick, ...programs }) {
  /** @param {keyof Totals} name */
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0)
  const missing = [
    ...testsWithoutProgram(programs).map(({ missing }) => missing),
    ...(redisUrl === undefined
      ? ['store tests on a real Redis, because redis-server is not on PATH (they ran on the emulation)']
      : [])
  ]
  // Tests that cannot run are left out by file. So a skipped test is an error, unless the caller selected tests by name.
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

/**
 * Whether these arguments for Jest select tests by name. Jest reports all others as skipped.
 * @param {readonly string[]} args
 */
export const picksByName = (args) => args.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg))
