// npm test: starts Postgres and Redis, runs Jest, and prints the ten slowest suites and "N passed, N failed, N skipped" at the
// end. With --quick (npm run test:quick), it runs a selection of suites for the first look and for each edit; with --programs,
// the suites that a machine with only Node and npm leaves out.

import { createProcesses } from '../lib/processes/processes.mjs'
import { onStopRequest } from '../lib/processes/stop-requests.mjs'
import { picksByName } from '../lib/tests/jest-arguments.mjs'
import { createJest } from '../lib/tests/jest-run.mjs'
import { NEEDS_PROGRAM, testsWithoutProgram } from '../lib/tests/program-tests.mjs'
import { NOT_QUICK } from '../lib/tests/quick-suites.mjs'
import { slowestLines } from '../lib/tests/slowest-suites.mjs'
import { makeTestDirectory, removeTestDirectory } from '../lib/tests/test-directory.mjs'
import { findTestPrograms, testEnvironment } from '../lib/tests/test-environment.mjs'
import { givenServers, startTestServers } from '../lib/tests/test-servers.mjs'
import { closingLines, lastLine, linesSoFar } from '../lib/tests/test-totals.mjs'

const TIME_LIMIT_MINUTES = 45

const isQuick = process.argv.includes('--quick')
const onlyPrograms = process.argv.includes('--programs')
const forJest = process.argv.slice(2).filter((arg) => arg !== '--quick' && arg !== '--programs')
const args = onlyPrograms ? [...forJest, NEEDS_PROGRAM.source] : forJest
const processes = createProcesses()
const { directory, temporary } = makeTestDirectory()
const jest = createJest({ args, directory, processes })

onStopRequest({
  onStop: () => finish(130, ['Interrupted.', ...linesSoFar(jest.totals())]),
  onForce: () => {
    processes.killAll()
    process.exit(130)
  }
})
setTimeout(() => {
  finish(1, [
    `Stopped after ${TIME_LIMIT_MINUTES} minutes.`,
    ...slowestLines(jest.slowest()),
    ...linesSoFar(jest.totals())
  ])
}, TIME_LIMIT_MINUTES * 60_000).unref()

try {
  const servers = await startTestServers(directory, processes, givenServers(process.env))
  const programs = { ...findTestPrograms(process.env), redis: servers.redisUrl }
  const environment = testEnvironment(process.env, { ...servers, ...programs, temporary })
  const leaveOut = isQuick ? [NOT_QUICK] : testsWithoutProgram(programs).map(({ files }) => files)
  const counting = isQuick ? [] : [jest.countLeftOut({ leaveOut, environment })]
  await Promise.all([jest.run({ leaveOut, environment }), ...counting])
  const mayPick = picksByName(args)
  const { lines, code } = closingLines(jest.totals(), { ...programs, isQuick, onlyPrograms, mayPick })
  await finish(code, [...slowestLines(jest.slowest()), ...lines])
} catch (error) {
  await finish(1, [error.message, lastLine({ passed: 0, failed: 1, skipped: 0 })])
}

async function finish(code, lines) {
  if (processes.isStopping()) return
  await processes.stopAll()
  await removeTestDirectory(directory)
  console.log(lines.join('\n'))
  process.exit(code)
}
