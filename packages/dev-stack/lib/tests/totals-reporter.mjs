// A reporter of Jest: writes the totals to a file whenever a suite has ended, so that an interrupted run has totals, too.
import { writeFileSync } from 'node:fs'

/** Jest calls it with `new`. */
export default function TotalsReporter() {
  const write = ({ testResults: _, ...totals }) => writeFileSync(process.env.TEST_TOTALS_FILE, JSON.stringify(totals))
  return {
    onTestResult: (_test, _result, totals) => write(totals),
    onRunComplete: (_contexts, totals) => write(totals)
  }
}
