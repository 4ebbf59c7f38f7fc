import { expect, test } from '@jest/globals'
import { progressLine } from '../../../src/operator/cli/progress-line.js'

const half = { done: 5_000, total: 10_000, elapsedMs: 2_000, path: '/srv/files/alice/photos/2026' }

test('progressLine shows bar, count, speed, remaining time and path', () => {
  expect(progressLine(half, 120)).toBe(
    '██████████░░░░░░░░░░ 50 %  5,000 of 10,000  2,500/s  2 s left  /srv/files/alice/photos/2026'
  )
})

test.each([
  {
    name: 'total unknown',
    change: { total: undefined },
    line: '5,000  2,500/s  /srv/files/alice/photos/2026'
  },
  { name: 'at the first entry', change: { done: 0, elapsedMs: 0 }, line: '0 of 10,000' },
  { name: 'more entries than counted', change: { done: 10_500 }, line: '100 %' },
  { name: 'nothing to do', change: { done: 0, total: 0 }, line: '100 %' },
  { name: 'minutes', change: { total: 1_000_000 }, line: '7 min left' },
  { name: 'hours', change: { total: 100_000_000 }, line: '11.1 h left' }
])('progressLine: $name', ({ change, line }) => {
  expect(progressLine({ ...half, ...change }, 120)).toContain(line)
})

test('progressLine leaves the last column free and shortens the path from its beginning', () => {
  for (let columns = 0; columns < 140; columns++) {
    const line = progressLine(half, columns)
    expect(line.length).toBeLessThanOrEqual(Math.max(0, columns - 1))
  }
  expect(progressLine(half, 80)).toMatch(/ {2}….*\/2026$/)
})
