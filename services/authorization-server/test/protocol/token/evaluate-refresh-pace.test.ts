import { describe, expect, test } from '@jest/globals'
import { assert, double, integer, property } from 'fast-check'
import { refreshPace, secondsToWait } from '../../../src/protocol/token/evaluate-refresh.js'

describe('refreshPace', () => {
  test.each([
    { ttl: 3600, interval: 60, rows: 20_191 },
    { ttl: 86_400, interval: 60, rows: 20_191 },
    { ttl: 600, interval: 10, rows: 120_991 },
    { ttl: 30, interval: 5, rows: 241_951 }
  ])('access tokens of $ttl s: one refresh in $interval s, at most $rows rows per grant', ({ ttl, interval, rows }) => {
    const { burst, intervalSeconds } = refreshPace(ttl, 1)
    expect([burst, intervalSeconds]).toEqual([30, interval])
    expect(1 + burst + Math.ceil((14 * 86_400) / intervalSeconds)).toBe(rows)
  })

  test('any lifetime: six refreshes fit into it, and no wait is longer than an interval', () => {
    assert(
      property(integer({ min: 1, max: 30 * 86_400 }), double({ min: 0, max: 1e9, noNaN: true }), (ttl, wait) => {
        const pace = refreshPace(ttl, 1)
        expect(pace.intervalSeconds).toBeLessThanOrEqual(ttl / 6)
        expect(secondsToWait(wait, pace)).toBeLessThanOrEqual(Math.ceil(pace.intervalSeconds))
      })
    )
  })
})
