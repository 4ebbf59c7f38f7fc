import { expect, test } from '@jest/globals'
import { settleWithin } from '../../src/process/settle-within.js'

const never = new Promise<void>(() => {})

test('settleWithin resolves when all tasks are settled, including failed ones', async () => {
  let ended = false
  const slow = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    ended = true
  })
  await settleWithin(10_000, [slow, Promise.reject(new Error('no'))])
  expect(ended).toBe(true)
})

test('settleWithin resolves at the limit if a task is still pending', async () => {
  await expect(settleWithin(20, [never])).resolves.toBeUndefined()
})
