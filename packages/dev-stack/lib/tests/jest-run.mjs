// Runs Jest in child processes. The totals of each run can be read at any time.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkout } from '../checkout.mjs'
import { nodeProgram } from '../processes/programs.mjs'
import { fileSelection } from './jest-arguments.mjs'
import { totalsOf } from './test-totals.mjs'

/** @import { Processes } from '../processes/processes.mjs' */
/** @import { Duration } from './slowest-suites.mjs' */

const jest = path.join(checkout, 'node_modules/jest/bin/jest.js')
const reporter = fileURLToPath(new URL('./totals-reporter.mjs', import.meta.url))
// The cache is not in the temporary folder, which is new for each run.
const cache = path.join(checkout, 'node_modules/.cache/jest')
const NO_NAME = '(?!)'

/** @typedef {{ file: string, endedWell: boolean | undefined, isLeftOut?: boolean }} Run */
/** @typedef {{ leaveOut: RegExp[], environment: NodeJS.ProcessEnv }} Selection `leaveOut`: files that this machine cannot run */

/** @param {{ args: string[], directory: string, processes: Processes }} options */
export function createJest({ args, directory, processes }) {
  /** @type {Run[]} */
  const runs = []

  /**
   * @param {Run} run
   * @param {{ ignored: string[], environment: NodeJS.ProcessEnv, options: string[] }} choice
   * @returns what `processes` needs to run Jest on all chosen files that match none of the patterns
   */
  function prepare(run, { ignored, environment, options }) {
    run.file = path.join(directory, `totals-${runs.push(run)}.json`)
    // The option replaces Jest's default pattern, so that is added again. It comes first, because Jest would read file names
    // after it as further patterns.
    const ignoring = ['/node_modules/', ...ignored].map((pattern) => `--testPathIgnorePatterns=${pattern}`)
    const shared = ['--reporters=default', `--reporters=${reporter}`, `--cacheDirectory=${cache}`, '--passWithNoTests']
    return {
      name: 'Jest',
      program: nodeProgram(
        jest,
        [...ignoring, '--forceExit', ...shared, ...options],
        ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
      ),
      environment: { ...environment, TEST_TOTALS_FILE: run.file },
      directory: checkout
    }
  }

  return {
    /** @param {Selection & { options?: string[] }} selection */
    async run({ leaveOut, environment, options = args }) {
      /** @type {Run} */
      const run = { file: '', endedWell: undefined }
      const ignored = leaveOut.map(({ source }) => source)
      const { exited } = processes.show(prepare(run, { ignored, environment, options }))
      run.endedWell = (await exited).code === 0
    },

    /**
     * Counts the tests of the files that were left out: Jest loads these files, and reports their tests as skipped.
     * @param {Selection} selection
     */
    async countLeftOut({ leaveOut, environment }) {
      if (leaveOut.length === 0) return
      /** @type {Run} */
      const run = { file: '', endedWell: undefined, isLeftOut: true }
      const ignored = [`^(?!.*(?:${leaveOut.map(({ source }) => source).join('|')}))`]
      const options = [...fileSelection(args), `--testNamePattern=${NO_NAME}`, '--silent', '--runInBand']
      const { code, stderr } = await processes.run(prepare(run, { ignored, environment, options }))
      run.endedWell = code === 0
      if (!run.endedWell) console.error(stderr)
    },

    /** The totals of each run; of a run that has not ended, those of its suites that have. */
    totals: () =>
      runs.map(({ file, endedWell, isLeftOut = false }) => ({ ...totalsOf(read(file), endedWell), isLeftOut })),

    /** The slowest suites that have ended. @returns {Duration[]} */
    slowest: () => runs.filter(({ isLeftOut }) => !isLeftOut).flatMap(({ file }) => read(file)?.slowest ?? [])
  }
}

/** @param {string} file */
const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined)
