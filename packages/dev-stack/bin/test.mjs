// npm test: starts Postgres and Redis, runs Jest, and prints "N passed, N failed, N skipped" at the end.

import { createProcesses } from '../lib/processes/processes.mjs'
import { onStopRequest } from '../lib/processes/stop-requests.mjs'
import { picksByName } from '../lib/tests/jest-arguments.mjs'
import { createJest } from '../lib/tests/jest-run.mjs'
import { testsWithoutProgram } from '../lib/tests/program-tests.mjs'
import { makeTestDirectory, removeTestDirectory } from '../lib/tests/test-directory.mjs'
import { findTestPrograms, testEnvironment } from '../lib/tests/test-environment.mjs'
import { givenServers, startTestServers } from '../lib/tests/test-servers.mjs'
import { closingLines, lastLine, linesSoFar } from '../lib/tests/test-totals.mjs'

const TIME_LIMIT_MINUTES = 70
// The suites that touch Redis, for a second run on the emulation.
const REDIS_SUITES = '/storage/|emulation|/flow[.]'

const args = process.argv.slice(2)
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
  finish(1, [`Stopped after ${TIME_LIMIT_MINUTES} minutes.`, ...linesSoFar(jest.totals())])
}, TIME_LIMIT_MINUTES * 60_000).unref()

try {
  const servers = await startTestServers(directory, processes, givenServers(process.env))
  const programs = { ...findTestPrograms(process.env), redis: servers.redisUrl }
  const environment = testEnvironment(process.env, { ...servers, ...programs, temporary })
  const leaveOut = filesWithout(programs)
  await Promise.all([jest.run({ leaveOut, environment }), jest.countLeftOut({ leaveOut, environment })])
  if (process.env.TEST_EMULATION_TOO === '1' && servers.redisUrl !== undefined) {
    console.log('\nRunning the store tests again on the emulation of Redis:')
    const { TEST_REDIS_URL: _, ...emulated } = environment
    const options = ['--testPathPatterns', REDIS_SUITES]
    await jest.run({ options, leaveOut: filesWithout({ ...programs, redis: undefined }), environment: emulated })
  }
  const { lines, code } = closingLines(jest.totals(), { ...programs, mayPick: picksByName(args) })
  await finish(code, lines)
} catch (error) {
  await finish(1, [error.message, lastLine({ passed: 0, failed: 1, skipped: 0 })])
}

function filesWithout(programs) {
  return testsWithoutProgram(programs).map(({ files }) => files)
}

async function finish(code, lines) {
  if (processes.isStopping()) return
  await processes.stopAll()
  await removeTestDirectory(directory)
  console.log(lines.join('\n'))
  process.exit(code)
}
