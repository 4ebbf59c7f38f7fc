// Tests that need a program. The file name contains the program, so that a machine without it can leave the file out.

/** @typedef {{ chromium?: string | undefined, firefox?: string | undefined, promtool?: string | undefined,
 *   pgbouncer?: string | undefined, faketime?: string | undefined, glewlwyd?: string | undefined,
 *   python?: string | undefined }} Programs their paths */

/** @type {{ program: keyof Programs, files: RegExp, missing: string }[]} */
const kinds = [
  {
    program: 'chromium',
    files: /\.chromium\.test\.ts$/,
    missing: 'browser tests, because Chromium was not found (install it, or set CHROMIUM)'
  },
  {
    program: 'python',
    files: /\.languages\.test\.ts$/,
    missing: 'other languages, because a program or library is missing (docs/connect-an-app.md)'
  },
  {
    program: 'firefox',
    files: /\.firefox\.test\.ts$/,
    missing: 'Firefox tests, because Firefox was not found (install it, or set FIREFOX)'
  },
  {
    program: 'promtool',
    files: /\.promtool\.test\.ts$/,
    missing: 'alert rule tests, because promtool was not found (install Prometheus, or set PROMTOOL)'
  },
  {
    program: 'pgbouncer',
    files: /\.pgbouncer\.test\.ts$/,
    missing: 'pooler tests, because pgbouncer or redis-server is not on PATH'
  },
  {
    program: 'faketime',
    files: /\.faketime\.test\.ts$/,
    missing: 'wrong-clock tests, because faketime or redis-server is not on PATH'
  },
  {
    program: 'glewlwyd',
    files: /\.glewlwyd\.test\.ts$/,
    missing: 'tests with a provider of other authors, because glewlwyd or sqlite3 is not on PATH'
  }
]

/**
 * @param {Programs} programs
 * @returns for each missing program: the files that cannot run, and a message
 */
export const testsWithoutProgram = (programs) => kinds.filter(({ program }) => programs[program] === undefined)
