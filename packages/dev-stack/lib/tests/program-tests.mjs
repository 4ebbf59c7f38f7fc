// Tests that need a program. The file name contains each of them, as in `redis-tls.openssl.redis.test.ts`, so that a machine
// without it can leave the file out.

const reasons = {
  redis: 'tests of a real Redis, because redis-server is not on PATH (all others ran on an emulation)',
  chromium: 'browser tests, because Chromium was not found (install it, or set CHROMIUM)',
  languages: 'other languages, because a program or library is missing (docs/connect-an-app.md)',
  firefox: 'Firefox tests, because Firefox was not found (install it, or set FIREFOX)',
  promtool: 'alert rule tests, because promtool was not found (install Prometheus, or set PROMTOOL)',
  pgbouncer: 'pooler tests, because pgbouncer is not on PATH',
  faketime: 'wrong-clock tests, because faketime is not on PATH',
  openssl: 'tests with own certificates, because openssl is not on PATH',
  glewlwyd: 'tests with a provider of other authors, because glewlwyd or sqlite3 is not on PATH'
}

/** The path or address of each. @typedef {{ [Program in keyof typeof reasons]?: string | undefined }} Programs */

/** The files that contain one of these names. @param {string[]} programs */
const filesWith = (programs) => new RegExp(`[.](${programs.join('|')})[.]([a-z]+[.])*test[.]ts$`)

/** Matches the path of every test file that needs a program. */
export const NEEDS_PROGRAM = filesWith(Object.keys(reasons))

/**
 * @param {Programs} programs
 * @returns for each missing program: the files that cannot run, and the reason
 */
export const testsWithoutProgram = (programs) =>
  Object.entries(reasons)
    .filter(([program]) => programs[/** @type {keyof Programs} */ (program)] === undefined)
    .map(([program, reason]) => ({ files: filesWith([program]), reason }))
