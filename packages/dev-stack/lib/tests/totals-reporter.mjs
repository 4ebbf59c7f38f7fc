// A reporter of Jest: writes the totals and the slowest suites to a file whenever a suite has ended, so that an interrupted run
// has them, too.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { checkout } from '../checkout.mjs'
import { slowestOf } from './slowest-suites.mjs'

/** @import { JestTotals } from './test-totals.mjs' */
/** @typedef {{ testFilePath: string, perfStats: { runtime: number } }} SuiteResult `runtime`: in milliseconds */
/** @typedef {JestTotals & { testResults: readonly SuiteResult[] }} Results */

/** Jest calls it with `new`. */
export default function TotalsReporter() {
  const { TEST_TOTALS_FILE: file = '' } = process.env
  /** @param {Results} results */
  function write({ testResults, ...totals }) {
    const suites = testResults.map(({ testFilePath, perfStats }) => ({
      file: path.relative(checkout, testFilePath),
      seconds: perfStats.runtime / 1_000
    }))
    writeFileSync(file, JSON.stringify({ ...totals, slowest: slowestOf(suites) }))
  }
  return {
    /** @type {(test: unknown, result: unknown, results: Results) => void} */
    onTestResult: (_test, _result, results) => write(results),
    /** @type {(contexts: unknown, results: Results) => void} */
    onRunComplete: (_contexts, results) => write(results)
  }
}
