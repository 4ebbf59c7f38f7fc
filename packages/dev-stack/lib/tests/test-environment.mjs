// The environment of the tests, and the programs that this machine has for them.
import { findOnPath, isProgram } from '../processes/programs.mjs'
import { serviceVariables } from '../start/settings.mjs'
import { findLanguages } from './language-programs.mjs'

/** @import { Programs } from './program-tests.mjs' */

const testVariables = [
  'VALETKEY_DATA',
  'TEST_POSTGRES_URL',
  'TEST_REDIS_URL',
  'TEST_CHROMIUM',
  'TEST_FIREFOX',
  'TEST_PROMTOOL',
  'TEST_PGBOUNCER',
  'TEST_PYTHON'
]
const leaking = new Set([...serviceVariables, ...serviceVariables.map((name) => `${name}_FILE`), ...testVariables])

/**
 * The caller's settings of the services and of Postgres clients must not influence a test.
 * @param {NodeJS.ProcessEnv} caller
 * @param {{ temporary: string, postgresUrl: string, redisUrl: string | undefined } & Programs} options
 */
export function testEnvironment(caller, { temporary, postgresUrl, redisUrl, ...programs }) {
  const { chromium, firefox, promtool, pgbouncer, languages } = programs
  const kept = Object.entries(caller).filter(([name]) => !leaking.has(name) && !/^PG[A-Z]/.test(name))
  return {
    ...Object.fromEntries(kept),
    // Temporary files that an interrupted test leaves are removed with the folder of the run.
    TMPDIR: temporary,
    TEST_POSTGRES_URL: postgresUrl,
    ...(redisUrl === undefined ? {} : { TEST_REDIS_URL: redisUrl }),
    ...(chromium === undefined ? {} : { TEST_CHROMIUM: chromium }),
    ...(firefox === undefined ? {} : { TEST_FIREFOX: firefox }),
    ...(promtool === undefined ? {} : { TEST_PROMTOOL: promtool }),
    ...(pgbouncer === undefined ? {} : { TEST_PGBOUNCER: pgbouncer }),
    ...(languages === undefined ? {} : { TEST_PYTHON: languages })
  }
}

/**
 * @param {NodeJS.ProcessEnv} caller
 * @returns the path of each program that tests need, except Redis: from the caller's variable, else from PATH
 */
export const findTestPrograms = (caller) => ({
  chromium: findChromium(caller),
  firefox: findProgram(caller.FIREFOX, ['firefox-esr', 'firefox'], caller.PATH),
  promtool: findProgram(caller.PROMTOOL, ['promtool'], caller.PATH),
  // Debian installs it in a folder that PATH may not contain.
  pgbouncer: findProgram(caller.PGBOUNCER, ['pgbouncer'], `${caller.PATH ?? ''}:/usr/sbin`),
  faketime: findOnPath(['faketime'], caller.PATH),
  // Its database is made with sqlite3.
  glewlwyd: findOnPath(['sqlite3'], caller.PATH) && findOnPath(['glewlwyd'], caller.PATH),
  openssl: findOnPath(['openssl'], caller.PATH),
  languages: findLanguages(caller)
})

/** @param {NodeJS.ProcessEnv} caller */
export const findChromium = (caller) =>
  findProgram(caller.CHROMIUM, ['chromium', 'chromium-browser', 'google-chrome'], caller.PATH)

/**
 * @param {string | undefined} named
 * @param {readonly string[]} names
 * @param {string | undefined} searchPath
 */
function findProgram(named, names, searchPath) {
  if (named) return isProgram(named) ? named : undefined
  return findOnPath(names, searchPath)
}
