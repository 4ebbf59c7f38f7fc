import { expect, test } from '@jest/globals'
import { addSample, bestOf, type ClockSample, offsetOf } from '../../src/clock/clock-samples.js'

/** A sample with a round trip of `tookMs`, of which the request took `thereMs`, of a clock that is `offset` ahead. */
const look = (sentAt: number, offset: number, tookMs = 2, thereMs = tookMs / 2): ClockSample => ({
  theirs: sentAt + thereMs + offset,
  sentAt,
  receivedAt: sentAt + tookMs
})

test('the sample with the shortest round trip is the best; its error is at most half of that', () => {
  const samples = [look(0, 1_000, 400, 400), look(5_000, 1_000, 4, 3), look(10_000, 1_000, 300, 0)].reduce(
    addSample,
    [] as readonly ClockSample[]
  )
  const best = bestOf(samples)
  expect(best?.sentAt).toBe(5_000)
  expect(Math.abs((best ? offsetOf(best) : 0) - 1_000)).toBeLessThanOrEqual(2)
})

test('a later sample with a longer round trip does not replace a better one', () => {
  const samples = addSample([look(0, 1_000)], look(5_000, 1_000, 8_000, 8_000))
  expect(bestOf(samples)?.sentAt).toBe(0)
})

test.each([-3_600_000, -1_000, 1_000, 34_560_000_000])(
  'a clock that was moved by %d ms is used after the next sample',
  (by) => {
    const samples = addSample([look(0, 1_000), look(5_000, 1_000)], look(10_000, 1_000 + by))
    expect(samples).toHaveLength(1)
    expect(offsetOf(samples[0] as ClockSample)).toBe(1_000 + by)
  }
)

test('the clock keeps the samples of one minute', () => {
  const samples = Array.from({ length: 100 }, (_, index) => look(index * 5_000, 1_000)).reduce(
    addSample,
    [] as readonly ClockSample[]
  )
  expect(samples.map(({ sentAt }) => sentAt)).toEqual(Array.from({ length: 12 }, (_, index) => (88 + index) * 5_000))
})

test('without samples there is no best one', () => {
  expect(bestOf([])).toBeUndefined()
})
