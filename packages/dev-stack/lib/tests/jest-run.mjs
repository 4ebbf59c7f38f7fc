// Runs Jest once, in a child process.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { checkout } from '../checkout.mjs'
import { nodeProgram } from '../processes/programs.mjs'
import { totalsOf } from './test-totals.mjs'

/** @import { Processes } from '../processes/processes.mjs' */

const jest = path.join(checkout, 'node_modules/jest/bin/jest.js')
// Not in the temporary folder, which is new for each run.
const cache = path.join(checkout, 'node_modules/.cache/jest')
let runs = 0

/**
 * @returns the totals of the run
 * @param {object} options
 * @param {RegExp[]} options.leaveOut the test files that this machine cannot run
 * @param {readonly string[]} options.args
 * @param {NodeJS.ProcessEnv} options.environment
 * @param {string} options.directory
 * @param {Processes} options.processes
 */
export async function runJest({ args, leaveOut, environment, directory, processes }) {
  runs += 1
  const reportFile = path.join(directory, `report-${runs}.json`)
  // The option replaces Jest's default pattern, so that is added again. It comes first, because Jest would read file names
  // after it as further patterns.
  const patterns = ['/node_modules/', ...leaveOut.map(({ source }) => source)]
  const ignored = patterns.map((pattern) => `--testPathIgnorePatterns=${pattern}`)
  const handle = processes.show({
    name: 'Jest',
    program: nodeProgram(
      jest,
      [...ignored, '--forceExit', '--json', `--outputFile=${reportFile}`, `--cacheDirectory=${cache}`, ...args],
      ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
    ),
    environment,
    directory: checkout
  })
  const { code } = await handle.exited
  const report = existsSync(reportFile) ? JSON.parse(readFileSync(reportFile, 'utf8')) : undefined
  return totalsOf(report, code === 0)
}
