import { expect, test } from '@jest/globals'
import { settleWithin } from '../../src/process/settle-within.js'

const never = new Promise<void>(() => {})

test('it ends when all have ended, those that failed included', async () => {
  let ended = false
  const slow = new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => {
    ended = true
  })
  await settleWithin(10_000, [slow, Promise.reject(new Error('no'))])
  expect(ended).toBe(true)
})

test('it waits for nobody beyond the limit', async () => {
  await expect(settleWithin(20, [never])).resolves.toBeUndefined()
})
