// Replaces Jest: prints its arguments and environment, writes its totals, and hangs if told to.
import { writeFileSync } from 'node:fs'

const { TEST_POSTGRES_URL, TEST_REDIS_URL, DATABASE_URL, TEST_CHROMIUM, TEST_FIREFOX, TEST_PROMTOOL } = process.env
const programs = { TEST_CHROMIUM, TEST_FIREFOX, TEST_PROMTOOL }
const args = process.argv.slice(2)
console.log(JSON.stringify({ TEST_POSTGRES_URL, TEST_REDIS_URL, DATABASE_URL, ...programs, args }))
const counts = args.some((arg) => arg.startsWith('--testNamePattern='))
const zero = { numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, numRuntimeErrorTestSuites: 0 }
const totals = counts ? { ...zero, numPassedTests: 0, numPendingTests: 3 } : { ...zero, numPassedTests: 4 }
const slowest = Array.from({ length: 10 }, (_, index) => ({ file: `suite-${index}.test.ts`, seconds: 100 - index }))
writeFileSync(process.env.TEST_TOTALS_FILE, JSON.stringify({ ...totals, slowest }))
if (process.env.STAND_IN_HANGS) {
  console.log('hanging')
  setInterval(() => {}, 1000)
}
