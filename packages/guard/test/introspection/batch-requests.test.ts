import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { batchRequests } from '../../src/introspection/batch-requests.js'

// At most one batch of 64 is sent every 20 ms, so 4,000 questions cannot all be sent within half a second.
const QUESTIONS = 4_000

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

test('a request that waits longer than the limit fails, and later requests are sent', async () => {
  const sent: number[] = []
  const ask = batchRequests<number, number>(
    (batch) => {
      sent.push(...batch)
      return new Promise((resolve) => setTimeout(() => resolve(batch), 100))
    },
    { milliseconds: 500, failure: () => new Error('timeout') }
  )
  const questions = Array.from({ length: QUESTIONS }, (_, number) => number)
  const outcomes = Promise.allSettled(questions.map(ask))
  await jest.advanceTimersByTimeAsync(2_000)

  expect(sent).toEqual(questions.slice(0, sent.length))
  expect(sent.length).toBeLessThan(QUESTIONS)
  const settled = (await outcomes).map((outcome) =>
    outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message
  )
  expect(settled).toEqual(questions.map((number) => (number < sent.length ? number : 'timeout')))

  const late = ask(QUESTIONS)
  await jest.advanceTimersByTimeAsync(200)
  expect(await late).toBe(QUESTIONS)
})
