// npm test: starts Postgres and Redis, runs Jest, and prints "N passed, N failed" at the end.

import { createProcesses } from '../lib/processes/processes.mjs'
import { onStopRequest } from '../lib/processes/stop-requests.mjs'
import { runJest } from '../lib/tests/jest-run.mjs'
import { testsWithoutProgram } from '../lib/tests/program-tests.mjs'
import { makeTestDirectory, removeTestDirectory } from '../lib/tests/test-directory.mjs'
import { findTestPrograms, testEnvironment } from '../lib/tests/test-environment.mjs'
import { givenServers, startTestServers } from '../lib/tests/test-servers.mjs'
import { closingLines, picksByName } from '../lib/tests/test-totals.mjs'

const TIME_LIMIT_MINUTES = 70
// The suites that touch Redis, for a second run on the emulation.
const REDIS_SUITES = '/storage/|emulation|/flow[.]'

const args = process.argv.slice(2)
const processes = createProcesses()
const { directory, temporary } = makeTestDirectory()

onStopRequest({
  onStop: () => finish(130, ['Interrupted.']),
  onForce: () => {
    processes.killAll()
    process.exit(130)
  }
})
setTimeout(() => {
  finish(1, [`Stopped after ${TIME_LIMIT_MINUTES} minutes.`, '0 passed, 1 failed'])
}, TIME_LIMIT_MINUTES * 60_000).unref()

try {
  const servers = await startTestServers(directory, processes, givenServers(process.env))
  const found = findTestPrograms(process.env)
  // The tests behind a pooler, and those with a wrong clock, need a Redis server as well.
  const { redisUrl } = servers
  const programs = { ...found, pgbouncer: redisUrl && found.pgbouncer, faketime: redisUrl && found.faketime }
  const environment = testEnvironment(process.env, { ...servers, ...programs, temporary })
  const leaveOut = testsWithoutProgram(programs).map(({ files }) => files)
  const runs = [await runJest({ args, leaveOut, environment, directory, processes })]
  if (process.env.TEST_EMULATION_TOO === '1' && servers.redisUrl !== undefined) {
    console.log('\nRunning the store tests again on the emulation of Redis:')
    const { TEST_REDIS_URL: _, ...emulated } = environment
    const again = ['--passWithNoTests', '--testPathPatterns', REDIS_SUITES]
    runs.push(await runJest({ args: again, leaveOut, environment: emulated, directory, processes }))
  }
  const { lines, code } = closingLines(runs, { ...servers, ...programs, mayPick: picksByName(args) })
  await finish(code, lines)
} catch (error) {
  await finish(1, [error.message, '0 passed, 1 failed'])
}

async function finish(code, lines) {
  if (processes.isStopping()) return
  await processes.stopAll()
  await removeTestDirectory(directory)
  console.log(lines.join('\n'))
  process.exit(code)
}
