import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { createStandInCheckout, type StandInCheckout, TEST_LIMIT_MS } from './support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

let checkout: StandInCheckout
beforeAll(async () => {
  checkout = await createStandInCheckout()
})
afterAll(() => checkout.dispose())

test('with TEST_EMULATION_TOO: runs again without Redis, without the files that need it, and adds the counts', async () => {
  const { stdout } = await checkout.start('test.mjs', [], { TEST_EMULATION_TOO: '1' }).ended
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
  const [first, second] = lines.map((line) => JSON.parse(line))
  const leavesOut = ({ args }: { args: string[] }) =>
    args.some((arg) => arg.startsWith('--testPathIgnorePatterns=[.]redis[.]'))
  expect([first, second].map(leavesOut)).toEqual([false, true])
  expect(first).toHaveProperty('TEST_REDIS_URL')
  expect(second).not.toHaveProperty('TEST_REDIS_URL')
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^8 passed, 0 failed, \d skipped$/)
})
