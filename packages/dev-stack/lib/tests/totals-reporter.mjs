// A reporter of Jest: writes the totals to a file whenever a suite has ended, so that an interrupted run has totals, too.
import { writeFileSync } from 'node:fs'

/** @import { JestTotals } from './test-totals.mjs' */
/** @typedef {JestTotals & { testResults: unknown }} Results */

/** Jest calls it with `new`. */
export default function TotalsReporter() {
  const { TEST_TOTALS_FILE: file = '' } = process.env
  /** @param {Results} results */
  const write = ({ testResults: _, ...totals }) => writeFileSync(file, JSON.stringify(totals))
  return {
    /** @type {(test: unknown, result: unknown, results: Results) => void} */
    onTestResult: (_test, _result, results) => write(results),
    /** @type {(contexts: unknown, results: Results) => void} */
    onRunComplete: (_contexts, results) => write(results)
  }
}
