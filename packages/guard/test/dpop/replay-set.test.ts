import { expect, test } from '@jest/globals'
import { createReplaySet } from '../../src/dpop/replay-set.js'

/** @property at the time, which the test moves */
function build({ windowMs = 1_000, capacity = 100 } = {}) {
  const clock = { at: 5 }
  return { clock, set: createReplaySet({ windowMs, capacity }, () => clock.at) }
}

test('A key is new once', () => {
  const { set } = build()
  expect(['a', 'b', 'a'].map(set.use)).toEqual(['first', 'first', 'used'])
})

test('A key is remembered for the window, in each of its slices', () => {
  const { set, clock } = build()
  set.use('a')
  const outcomes = Array.from({ length: 10 }, (_, slice) => {
    clock.at = 5 + (slice + 1) * 100
    set.use(`another ${slice}`)
    return set.use('a')
  })
  expect(outcomes).toEqual(Array(10).fill('used'))
})

test('A key is forgotten within a tenth of the window after it, and its memory is free', () => {
  const { set, clock } = build({ capacity: 100_000 })
  for (let number = 0; number < 50_000; number++) set.use(String(number))
  const { bytes } = set.statistics()
  clock.at = 5 + 1_100
  expect(set.use('1')).toBe('first')
  expect(set.statistics().entries).toBe(1)
  expect(set.statistics().bytes).toBeLessThan(bytes / 10)
})

test('A full set says so for new keys, still knows the used ones, and has room again later', () => {
  const { set, clock } = build({ capacity: 2 })
  expect(['a', 'b', 'c', 'a', 'c'].map(set.use)).toEqual(['first', 'first', 'full', 'used', 'full'])
  expect(set.statistics()).toMatchObject({ entries: 2, capacity: 2, refusedFull: 2 })
  clock.at += 1_100
  expect(set.use('c')).toBe('first')
})
