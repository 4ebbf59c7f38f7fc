import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { library } from './support/library.js'

const { closingLines, linesSoFar, totalsOf } = await library('tests/test-totals')
const { findTestPrograms, testEnvironment } = await library('tests/test-environment')

const report = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0
}

test.each([
  { name: 'all passed', change: {}, endedWell: true, totals: { passed: 5, failed: 0, skipped: 0 } },
  { name: 'Jest has not ended', change: {}, endedWell: undefined, totals: { passed: 5, failed: 0, skipped: 0 } },
  {
    name: 'a file that could not be loaded',
    change: { numRuntimeErrorTestSuites: 1 },
    endedWell: false,
    totals: { passed: 5, failed: 1 }
  },
  { name: 'all passed, but Jest failed', change: {}, endedWell: false, totals: { passed: 5, failed: 1 } },
  { name: 'skipped and todo', change: { numPendingTests: 1, numTodoTests: 2 }, endedWell: true, totals: { skipped: 3 } }
])('totals: $name', ({ change, endedWell, totals }) => {
  expect(totalsOf({ ...report, ...change }, endedWell)).toMatchObject(totals)
})

test.each([
  { name: 'Jest failed', endedWell: false, failed: 1 },
  { name: 'no file was chosen', endedWell: true, failed: 0 },
  { name: 'no suite has ended', endedWell: undefined, failed: 0 }
])('no totals because $name: $failed failed', ({ endedWell, failed }) => {
  expect(totalsOf(undefined, endedWell)).toEqual({ passed: 0, failed, skipped: 0 })
})

const machine = {
  chromium: '/usr/bin/chromium',
  firefox: '/usr/bin/firefox',
  promtool: '/usr/bin/promtool',
  pgbouncer: '/usr/sbin/pgbouncer',
  faketime: '/usr/bin/faketime',
  glewlwyd: '/usr/bin/glewlwyd',
  openssl: '/usr/bin/openssl',
  languages: '/usr/bin/python3',
  redis: 'redis://here',
  mayPick: false
}
const green = { passed: 3, failed: 0, skipped: 0 }
const leftOut = { passed: 0, failed: 0, skipped: 0, isLeftOut: true }

test.each([
  {
    name: 'all programs exist',
    runs: [green],
    lines: ['All tests could run.', '3 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'two runs add up',
    runs: [green, green],
    lines: ['All tests could run.', '6 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'no test ran',
    runs: [{ ...green, passed: 0 }],
    lines: ['All tests could run.', '0 passed, 0 failed, 0 skipped'],
    code: 1
  },
  {
    name: 'an unexplained skipped test',
    runs: [{ ...green, skipped: 2 }],
    lines: [expect.stringContaining('2'), 'All tests could run.', '3 passed, 2 failed, 0 skipped'],
    code: 1
  },
  {
    name: 'tests selected by name',
    runs: [{ ...green, skipped: 2 }],
    missing: { mayPick: true },
    lines: ['All tests could run.', '3 passed, 0 failed, 2 skipped'],
    code: 0
  },
  {
    name: 'no Chromium',
    runs: [green],
    missing: { chromium: undefined },
    lines: [
      expect.stringMatching(/^Not run: browser tests, because Chromium was not found/),
      '3 passed, 0 failed, 0 skipped'
    ],
    code: 0
  },
  {
    name: 'no Firefox',
    runs: [green],
    missing: { firefox: undefined },
    lines: [
      'Not run: Firefox tests, because Firefox was not found (install it, or set FIREFOX).',
      '3 passed, 0 failed, 0 skipped'
    ],
    code: 0
  },
  {
    name: 'no promtool',
    runs: [green],
    missing: { promtool: undefined },
    lines: [
      expect.stringMatching(/^Not run: alert rule tests, because promtool was not found/),
      '3 passed, 0 failed, 0 skipped'
    ],
    code: 0
  },
  {
    name: 'no PgBouncer',
    runs: [green],
    missing: { pgbouncer: undefined },
    lines: [expect.stringMatching(/^Not run: pooler tests, because pgbouncer/), '3 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'no faketime',
    runs: [green],
    missing: { faketime: undefined },
    lines: [expect.stringMatching(/^Not run: wrong-clock tests, because faketime/), '3 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'no Glewlwyd',
    runs: [green],
    missing: { glewlwyd: undefined },
    lines: [expect.stringMatching(/^Not run: tests with a provider of other authors/), '3 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'no libraries for Python, Go, Ruby, PHP or Java',
    runs: [green],
    missing: { languages: undefined },
    lines: [expect.stringMatching(/^Not run: other languages/), '3 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'no Redis: the tests of the files that were left out are skipped, and not failed',
    runs: [green, { ...leftOut, skipped: 7 }],
    missing: { redis: undefined },
    lines: [
      expect.stringMatching(/^Not run: tests of a real Redis, because redis-server/),
      '3 passed, 0 failed, 7 skipped'
    ],
    code: 0
  },
  {
    name: 'a file that was left out cannot be loaded',
    runs: [green, { ...leftOut, failed: 1, skipped: 7 }],
    missing: { redis: undefined },
    lines: [expect.anything(), '3 passed, 1 failed, 7 skipped'],
    code: 1
  },
  {
    name: 'no openssl',
    runs: [green],
    missing: { openssl: undefined },
    lines: [expect.stringMatching(/^Not run: .* because openssl/), '3 passed, 0 failed, 0 skipped'],
    code: 0
  },
  {
    name: 'a skipped test that no missing program explains',
    runs: [{ ...green, skipped: 1 }],
    missing: { chromium: undefined, firefox: undefined, promtool: undefined, redis: undefined },
    lines: [
      expect.anything(),
      expect.stringMatching(/^Not run: .*redis.*Chromium.*Firefox.*promtool/),
      '3 passed, 1 failed, 0 skipped'
    ],
    code: 1
  }
])('last lines: $name', ({ runs, missing = {}, lines, code }) => {
  expect(closingLines(runs, { ...machine, ...missing })).toEqual({ lines, code })
})

test('stopped: the last line has what has passed and failed so far', () => {
  const runs = [
    { passed: 5, failed: 1, skipped: 0 },
    { ...leftOut, skipped: 7 }
  ]
  expect(linesSoFar(runs).at(-1)).toBe('5 passed, 1 failed, 7 skipped')
})

test('the caller’s settings are not passed to the tests', () => {
  const caller = {
    DATABASE_URL: 'a',
    REDIS_URL_FILE: 'b',
    ISSUER: 'c',
    PGPASSWORD: 'd',
    TEST_REDIS_URL: 'e',
    HOME: '/h'
  }
  const environment = testEnvironment(caller, { temporary: '/run', postgresUrl: 'postgres://throw-away' })
  expect(environment).toEqual({ HOME: '/h', TMPDIR: '/run', TEST_POSTGRES_URL: 'postgres://throw-away' })
})

test('the programs are passed under their own variables, and the caller’s variables with these names are not', () => {
  const caller = { TEST_CHROMIUM: 'a', TEST_FIREFOX: 'b', TEST_PROMTOOL: 'c' }
  const given = { temporary: '/run', postgresUrl: 'postgres://throw-away' }
  const programs = { chromium: '/opt/chromium', firefox: '/opt/firefox', promtool: '/opt/promtool' }
  for (const name of Object.keys(caller)) expect(testEnvironment(caller, given)).not.toHaveProperty(name)
  expect(testEnvironment(caller, { ...given, ...programs })).toMatchObject({
    TEST_CHROMIUM: '/opt/chromium',
    TEST_FIREFOX: '/opt/firefox',
    TEST_PROMTOOL: '/opt/promtool'
  })
})

describe.each([
  { variable: 'CHROMIUM', program: 'chromium', names: ['chromium', 'chromium-browser', 'google-chrome'] },
  { variable: 'FIREFOX', program: 'firefox', names: ['firefox-esr', 'firefox'] },
  { variable: 'PROMTOOL', program: 'promtool', names: ['promtool'] }
])('path of $variable', ({ variable, program, names }) => {
  const find = (caller: NodeJS.ProcessEnv) => findTestPrograms(caller)[program]
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'valetkey-browsers-'))
    for (const name of names) writeFileSync(path.join(folder, name), '', { mode: 0o755 })
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('the first known name on PATH', () => {
    expect(find({ PATH: folder })).toBe(path.join(folder, names[0] ?? ''))
    expect(find({ PATH: tmpdir() })).toBeUndefined()
  })

  test('the path in the caller’s variable, and no other if that is not a program', () => {
    const named = path.join(folder, names.at(-1) ?? '')
    expect(find({ PATH: folder, [variable]: named })).toBe(named)
    expect(find({ PATH: folder, [variable]: '/nowhere/browser' })).toBeUndefined()
  })
})
