import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { library } from './support/library.js'

const { closingLines, picksByName, totalsOf } = await library('tests/test-totals')
const { findTestPrograms, testEnvironment } = await library('tests/test-environment')

const report = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  numRuntimeErrorTestSuites: 0,
  numTotalTests: 5
}

test.each([
  { name: 'all passed', change: {}, endedWell: true, totals: { passed: 5, failed: 0, skipped: 0 } },
  {
    name: 'a file that could not be loaded',
    change: { numRuntimeErrorTestSuites: 1 },
    totals: { passed: 5, failed: 1 }
  },
  { name: 'all passed, but Jest failed', change: {}, totals: { passed: 5, failed: 1 } },
  { name: 'skipped and todo', change: { numPendingTests: 1, numTodoTests: 2 }, endedWell: true, totals: { skipped: 3 } }
])('totals: $name', ({ change, endedWell = false, totals }) => {
  expect(totalsOf({ ...report, ...change }, endedWell)).toMatchObject(totals)
})

test('no report: counts as a failure', () => {
  expect(totalsOf(undefined, true)).toEqual({ passed: 0, failed: 1, skipped: 0 })
})

const machine = {
  chromium: '/usr/bin/chromium',
  firefox: '/usr/bin/firefox',
  promtool: '/usr/bin/promtool',
  pgbouncer: '/usr/sbin/pgbouncer',
  faketime: '/usr/bin/faketime',
  glewlwyd: '/usr/bin/glewlwyd',
  python: '/usr/bin/python3',
  redisUrl: 'redis://here',
  mayPick: false
}
const green = { passed: 3, failed: 0, skipped: 0 }

test.each([
  { name: 'all programs exist', runs: [green], lines: ['All tests could run.', '3 passed, 0 failed'], code: 0 },
  { name: 'two runs add up', runs: [green, green], lines: ['All tests could run.', '6 passed, 0 failed'], code: 0 },
  {
    name: 'no test ran',
    runs: [{ ...green, passed: 0 }],
    lines: ['All tests could run.', '0 passed, 0 failed'],
    code: 1
  },
  {
    name: 'an unexplained skipped test',
    runs: [{ ...green, skipped: 2 }],
    lines: [expect.stringContaining('2'), 'All tests could run.', '3 passed, 2 failed'],
    code: 1
  },
  {
    name: 'tests selected by name',
    runs: [{ ...green, skipped: 2 }],
    missing: { mayPick: true },
    lines: ['All tests could run.', '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no Chromium',
    runs: [green],
    missing: { chromium: undefined },
    lines: [expect.stringMatching(/^Not run: browser tests, because Chromium was not found/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no Firefox',
    runs: [green],
    missing: { firefox: undefined },
    lines: [
      'Not run: Firefox tests, because Firefox was not found (install it, or set FIREFOX).',
      '3 passed, 0 failed'
    ],
    code: 0
  },
  {
    name: 'no promtool',
    runs: [green],
    missing: { promtool: undefined },
    lines: [expect.stringMatching(/^Not run: alert rule tests, because promtool was not found/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no PgBouncer',
    runs: [green],
    missing: { pgbouncer: undefined },
    lines: [expect.stringMatching(/^Not run: pooler tests, because pgbouncer/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no faketime',
    runs: [green],
    missing: { faketime: undefined },
    lines: [expect.stringMatching(/^Not run: wrong-clock tests, because faketime/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no Glewlwyd',
    runs: [green],
    missing: { glewlwyd: undefined },
    lines: [expect.stringMatching(/^Not run: tests with a provider of other authors/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no libraries for Python, Go, Ruby, PHP or Java',
    runs: [green],
    missing: { python: undefined },
    lines: [expect.stringMatching(/^Not run: other languages/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'no Redis',
    runs: [green],
    missing: { redisUrl: undefined },
    lines: [expect.stringMatching(/^Not run: .*redis-server/), '3 passed, 0 failed'],
    code: 0
  },
  {
    name: 'a skipped test that no missing program explains',
    runs: [{ ...green, skipped: 1 }],
    missing: { chromium: undefined, firefox: undefined, promtool: undefined, redisUrl: undefined },
    lines: [
      expect.anything(),
      expect.stringMatching(/^Not run: .*Chromium.*Firefox.*promtool.*redis/),
      '3 passed, 1 failed'
    ],
    code: 1
  }
])('last lines: $name', ({ runs, missing = {}, lines, code }) => {
  expect(closingLines(runs, { ...machine, ...missing })).toEqual({ lines, code })
})

test('only -t and its long form select tests by name', () => {
  expect(picksByName(['-t', 'x'])).toBe(true)
  expect(picksByName(['--testNamePattern=x'])).toBe(true)
  expect(picksByName(['packages/dev-stack', '--silent'])).toBe(false)
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
