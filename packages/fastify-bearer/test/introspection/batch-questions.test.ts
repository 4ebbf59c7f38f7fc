import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { batchQuestions } from '../../src/introspection/batch-questions.js'

// A batch of 64 leaves every 20 ms at most, so 4,000 questions cannot all be sent within half a second.
const QUESTIONS = 4_000

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

test('a question that waits longer than the limit fails, and questions after it are sent', async () => {
  const sent: number[] = []
  const ask = batchQuestions<number, number>(
    (batch) => {
      sent.push(...batch)
      return new Promise((resolve) => setTimeout(() => resolve(batch), 100))
    },
    { milliseconds: 500, failure: () => new Error('timeout') }
  )
  const asked = Array.from({ length: QUESTIONS }, (_, number) => number)
  const outcomes = Promise.allSettled(asked.map(ask))
  await jest.advanceTimersByTimeAsync(2_000)

  expect(sent).toEqual(asked.slice(0, sent.length))
  expect(sent.length).toBeLessThan(QUESTIONS)
  const settled = (await outcomes).map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))
  expect(settled).toEqual(asked.map((number) => (number < sent.length ? number : 'timeout')))

  const late = ask(QUESTIONS)
  await jest.advanceTimersByTimeAsync(200)
  expect(await late).toBe(QUESTIONS)
})
