import { expect, jest, test } from '@jest/globals'
import { withTimeLimit } from '../../src/process/with-time-limit.js'

const never = new Promise<never>(() => {})

test('withTimeLimit returns the result of a task that ends in time', async () => {
  expect(await withTimeLimit(10_000, Promise.resolve('result'), () => 'late')).toBe('result')
})

test('withTimeLimit throws what the task throws', async () => {
  await expect(withTimeLimit(10_000, Promise.reject(new Error('failed')), () => 'late')).rejects.toThrow('failed')
})

test('withTimeLimit returns the result of onTimeout when the task is too late', async () => {
  expect(await withTimeLimit(1, never, () => 'late')).toBe('late')
})

test('withTimeLimit throws what onTimeout throws', async () => {
  const onTimeout = () => {
    throw new Error('too late')
  }
  await expect(withTimeLimit(1, never, onTimeout)).rejects.toThrow('too late')
})

test('withTimeLimit leaves no timer behind when the task has ended', async () => {
  jest.useFakeTimers()
  await withTimeLimit(10_000, Promise.resolve(), () => 'late')
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})
