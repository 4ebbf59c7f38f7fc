// The tests that need a program. Their files say in their names which one, so a machine without it can leave them out.

const kinds = [
  {
    program: 'chromium',
    files: /\.chromium\.test\.ts$/,
    missing: 'the browser tests, for want of Chromium (install it, or name it in CHROMIUM)'
  },
  {
    program: 'firefox',
    files: /\.firefox\.test\.ts$/,
    missing: 'the tests in Firefox, for want of it (install it, or name it in FIREFOX)'
  },
  {
    program: 'promtool',
    files: /\.promtool\.test\.ts$/,
    missing: 'the tests of the alert rules, for want of promtool (install Prometheus, or name it in PROMTOOL)'
  },
  {
    program: 'pgbouncer',
    files: /\.pgbouncer\.test\.ts$/,
    missing: 'the tests behind a pooler, for want of pgbouncer on PATH, or of redis-server'
  },
  {
    program: 'faketime',
    files: /\.faketime\.test\.ts$/,
    missing: 'the tests with a wrong clock, for want of faketime on PATH, or of redis-server'
  }
]

/**
 * @param {{ chromium?: string, firefox?: string, promtool?: string, pgbouncer?: string, faketime?: string }} programs where this machine has them
 * @returns for each one that it lacks: the files that cannot run, and how that is said
 */
export const testsWithoutProgram = (programs) => kinds.filter(({ program }) => programs[program] === undefined)
