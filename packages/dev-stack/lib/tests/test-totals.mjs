// Converts Jest's totals to the last lines of npm test.
import { testsWithoutProgram } from './program-tests.mjs'

/** @import { Programs } from './program-tests.mjs' */
/** @typedef {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number, numPendingTests: number,
 *   numTodoTests: number }} JestTotals */
/** @typedef {{ passed: number, failed: number, skipped: number, isLeftOut?: boolean }} Totals */

/**
 * @param {JestTotals | undefined} totals undefined if Jest had no suite
 * @param {boolean | undefined} endedWell whether Jest exited with 0; undefined if it has not ended
 * @returns {Totals}
 */
export function totalsOf(totals, endedWell) {
  if (totals === undefined) return { passed: 0, failed: endedWell === false ? 1 : 0, skipped: 0 }
  // Jest counts no tests of a file that could not be loaded. Here such a file counts as one failure.
  const failed = totals.numFailedTests + totals.numRuntimeErrorTestSuites
  const unexplained = failed === 0 && endedWell === false ? 1 : 0
  return {
    passed: totals.numPassedTests,
    failed: failed + unexplained,
    skipped: totals.numPendingTests + totals.numTodoTests
  }
}

const REST = 'the other suites, which npm test runs as well'
const NEED_NO_PROGRAM = 'the suites that need no program, which npm test runs as well'

/**
 * @param {Totals[]} runs
 * @param {{ mayPick: boolean, isQuick?: boolean, onlyPrograms?: boolean } & Programs} options `mayPick`: whether the caller
 *   selected tests by name; and the path of each program that tests need
 */
export function closingLines(runs, { mayPick, isQuick = false, onlyPrograms = false, ...programs }) {
  const missing = testsWithoutProgram(programs).map(({ reason }) => reason)
  const reasons = isQuick ? [REST] : [...(onlyPrograms ? [NEED_NO_PROGRAM] : []), ...missing]
  // What cannot run is left out by file. So another skipped test is an error, unless the caller selected tests by name.
  const unexplained = mayPick ? 0 : sum(runs.filter(({ isLeftOut }) => !isLeftOut)).skipped
  const { passed, failed, skipped } = sum(runs)
  const totals = { passed, failed: failed + unexplained, skipped: skipped - unexplained }
  return {
    lines: [
      ...(unexplained > 0 ? [`Skipped tests, counted as failed: ${unexplained}`] : []),
      reasons.length > 0 ? `Not run: ${reasons.join('; ')}.` : 'All tests could run.',
      lastLine(totals)
    ],
    code: totals.failed > 0 || passed === 0 ? 1 : 0
  }
}

/** @param {Totals[]} runs those of a run that was stopped */
export const linesSoFar = (runs) => ['Only suites that had ended are counted:', lastLine(sum(runs))]

/** @param {Totals} totals */
export const lastLine = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`

/** @param {Totals[]} runs */
function sum(runs) {
  /** @param {'passed' | 'failed' | 'skipped'} name */
  const total = (name) => runs.reduce((before, run) => before + run[name], 0)
  return { passed: total('passed'), failed: total('failed'), skipped: total('skipped') }
}
