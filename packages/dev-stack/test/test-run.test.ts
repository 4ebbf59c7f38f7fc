import { mkdirSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { descendantsOf, isAlive } from './support/process-tree.js'
import { createStandInCheckout, type StandInCheckout, TEST_LIMIT_MS, until } from './support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

let checkout: StandInCheckout
let temporary: string
beforeAll(async () => {
  checkout = await createStandInCheckout()
  temporary = checkout.file('temporary')
  mkdirSync(temporary)
})
afterAll(() => checkout.dispose())

const run = (changes: NodeJS.ProcessEnv = {}, args: string[] = []) =>
  checkout.start('test.mjs', args, {
    TMPDIR: temporary,
    CHROMIUM: process.execPath,
    FIREFOX: process.execPath,
    PROMTOOL: process.execPath,
    DATABASE_URL: 'leaks',
    ...changes
  })

/** A run with a given Postgres starts none, which takes most of the time of a run without suites. */
const givenPostgres = { TEST_POOLER_URL: 'postgres://given', TEST_POSTGRES_URL: 'postgres://given' }

/** Returns the test files that Jest was configured to skip. */
const passedOver = (args: string[], files: string[]) => {
  const option = '--testPathIgnorePatterns='
  const patterns = args.filter((arg) => arg.startsWith(option)).map((arg) => new RegExp(arg.slice(option.length)))
  return files.filter((file) => patterns.some((pattern) => pattern.test(file)))
}

const given = (output: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

test('a run starts Postgres, passes the programs on, hides the caller’s settings, and prints slow suites and last lines', async () => {
  const { code, stdout } = await run().ended
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /\nSlowest suites:\n +100 s {2}suite-0\.test\.ts\n( +\d+ s {2}\S+\n){9}(All tests could run\.\n4 passed, 0 failed, 0|Not run: [^\n]*\n4 passed, 0 failed, 3) skipped\n$/
  )
  const [environment] = given(stdout)
  for (const name of ['TEST_CHROMIUM', 'TEST_FIREFOX', 'TEST_PROMTOOL']) {
    expect(environment).toHaveProperty(name, process.execPath)
  }
  expect(environment.TEST_POSTGRES_URL).toMatch(/^postgres:\/\/postgres:.+@127\.0\.0\.1:\d+\/postgres$/)
  expect(environment).not.toHaveProperty('DATABASE_URL')
  expect(readdirSync(temporary)).toEqual([])
})

test.each([
  { program: 'Chromium', changes: { CHROMIUM: '/nowhere' }, left: ['/e2e/pages.chromium.test.ts'] },
  { program: 'Firefox', changes: { FIREFOX: '/nowhere' }, left: ['/e2e/page-policy.firefox.test.ts'] },
  { program: 'promtool', changes: { PROMTOOL: '/nowhere' }, left: ['/e2e/alert-rules.promtool.test.ts'] },
  { program: 'no program', changes: {}, left: [] }
])(
  'without $program: exactly the files that need it are left out, and their tests are counted as skipped',
  async (row) => {
    const { stdout } = await run({ ...givenPostgres, ...row.changes }).ended
    const needy = [
      '/e2e/pages.chromium.test.ts',
      '/e2e/page-policy.firefox.test.ts',
      '/e2e/alert-rules.promtool.test.ts'
    ]
    const files = [...needy, '/e2e/default-stack.test.ts']
    const [{ args }] = given(stdout)
    expect(passedOver(args, files)).toEqual(row.left)
    const [before, last] = stdout.trimEnd().split('\n').slice(-2)
    for (const name of ['Chromium', 'Firefox', 'promtool']) expect(before?.includes(name)).toBe(name === row.program)
    expect(last).toBe(`4 passed, 0 failed, ${before === 'All tests could run.' ? 0 : 3} skipped`)
  }
)

test('quick: rules, stores and main flows that need no program; the line before the last names the rest', async () => {
  const { stdout } = await run(givenPostgres, ['--quick', 'guard']).ended
  const [{ args }, ...others] = given(stdout)
  expect(others).toEqual([])
  expect(args.at(-1)).toBe('guard')
  const flows = '/valetkey/services/authorization-server/test/flows'
  const chosen = [
    '/valetkey/packages/oauth-protocol/test/scope.test.ts',
    `${flows}/flow.test.ts`,
    `${flows}/code/a.test.ts`
  ]
  const rest = [`${flows}/code/a.redis.test.ts`, `${flows}/account/a.test.ts`, '/valetkey/e2e/default-stack.test.ts']
  expect(passedOver(args, [...chosen, ...rest])).toEqual(rest)
  expect(stdout).toMatch(/\nNot run: the other suites, which npm test runs as well\.\n4 passed, 0 failed, 0 skipped\n$/)
})

test('programs: exactly the files that need a program; the line before the last names the rest', async () => {
  const { stdout } = await run(givenPostgres, ['--programs', '--runInBand']).ended
  const [{ args }] = given(stdout)
  expect(args.at(-2)).toBe('--runInBand')
  const needy = ['/v/e2e/pages.chromium.test.ts', '/v/e2e/pooler.pgbouncer.redis.test.ts', '/v/test/a.redis.test.ts']
  const rest = ['/v/e2e/default-stack.test.ts', '/v/test/storage/redis/redis.test.ts']
  expect([...needy, ...rest].filter((file) => new RegExp(args.at(-1)).test(file))).toEqual(needy)
  expect(stdout).toMatch(/\nNot run: the suites that need no program, which npm test runs as well[;.]/)
})

test('options for a report are passed on, and the totals do not need them', async () => {
  const options = ['--json', '--outputFile=mine.json', '--outputFile', 'mine.json', 'guard']
  const { stdout } = await run(givenPostgres, options).ended
  const [{ args }] = given(stdout)
  expect(args.slice(-options.length)).toEqual(options)
  expect(args.filter((arg: string) => /json|outputFile/.test(arg))).toHaveLength(4)
  expect(stdout).toMatch(/\n4 passed, 0 failed, \d skipped\n$/)
})

test('interrupted: the last line has the totals of the suites that have ended, and the exit code is 130', async () => {
  const running = run({ STAND_IN_HANGS: '1' })
  await until(() => running.said.stdout.includes('hanging'))
  running.child.kill('SIGINT')
  const { code, stdout } = await running.ended
  expect(code).toBe(130)
  expect(stdout).toMatch(/\nInterrupted\.\nOnly suites .*\n4 passed, 0 failed, \d skipped\n$/)
})

test.each([{ signal: 'SIGTERM' as const }, { signal: 'SIGKILL' as const }])(
  'ended by $signal: leaves no process',
  async ({ signal }) => {
    const running = run({ STAND_IN_HANGS: '1' })
    await until(() => running.said.stdout.includes('hanging'))
    const processes = descendantsOf(running.child.pid ?? 0)
    expect(processes.length).toBeGreaterThan(2)
    running.child.kill(signal)
    await until(() => processes.filter(isAlive).length === 0)
  }
)

test('the folder of a killed run is removed by the next run', async () => {
  expect(readdirSync(temporary)).toHaveLength(1)
  await run().ended
  expect(readdirSync(temporary)).toEqual([])
})
