import { mkdirSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { descendantsOf, isAlive } from './support/process-tree.js'
import { createStandInCheckout, type StandInCheckout, until } from './support/stand-in-checkout.js'

let checkout: StandInCheckout
let temporary: string
beforeAll(async () => {
  checkout = await createStandInCheckout()
  temporary = checkout.file('temporary')
  mkdirSync(temporary)
})
afterAll(() => checkout.dispose())

const run = (changes: NodeJS.ProcessEnv = {}) =>
  checkout.start('test.mjs', [], {
    TMPDIR: temporary,
    CHROMIUM: process.execPath,
    FIREFOX: process.execPath,
    PROMTOOL: process.execPath,
    DATABASE_URL: 'leaks',
    ...changes
  })

/** Which of these test files Jest was configured to skip. */
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

test('starts Postgres, passes the programs on, hides the caller’s settings, and prints the two last lines', async () => {
  const { code, stdout } = await run().ended
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /\n(All tests could run\.|Not run: [^\n]*(redis-server|faketime)[^\n]*)\n4 passed, 0 failed\n$/
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
])('without $program: exactly the files that need it are left out, in both runs', async (row) => {
  const { stdout } = await run({ TEST_EMULATION_TOO: '1', ...row.changes }).ended
  const needy = ['/e2e/pages.chromium.test.ts', '/e2e/page-policy.firefox.test.ts', '/e2e/alert-rules.promtool.test.ts']
  const files = [...needy, '/e2e/default-stack.test.ts']
  for (const { args } of given(stdout)) expect(passedOver(args, files)).toEqual(row.left)
  const [before, last] = stdout.trimEnd().split('\n').slice(-2)
  for (const name of ['Chromium', 'Firefox', 'promtool']) expect(before?.includes(name)).toBe(name === row.program)
  expect(last).toMatch(/^\d+ passed, 0 failed$/)
})

test('with TEST_EMULATION_TOO: runs again without Redis and adds the counts', async () => {
  const { stdout } = await run({ TEST_EMULATION_TOO: '1' }).ended
  const [first, second] = given(stdout)
  if (first.TEST_REDIS_URL === undefined) return
  expect(second).not.toHaveProperty('TEST_REDIS_URL')
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('8 passed, 0 failed')
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
