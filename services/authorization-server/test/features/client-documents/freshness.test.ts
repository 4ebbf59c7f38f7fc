import { expect, test } from '@jest/globals'
import { freshSeconds } from '../../../src/features/client-documents/freshness.js'

test.each([
  [undefined, 3_600],
  ['', 3_600],
  ['max-age=7200', 7_200],
  ['public, MAX-AGE=7200', 7_200],
  ['max-age="7200"', 7_200],
  ['max-age=0', 300],
  ['max-age=9999999999', 86_400],
  ['max-age=-1', 3_600],
  ['max-age=x', 3_600],
  ['no-cache', 300],
  ['no-store', 60],
  ['private, max-age=0', 60],
  ['private="x", max-age=9999', 60],
  ['max-age=9999, no-store', 60]
])('Cache-Control %j: fresh for %i seconds (RFC 9111 §5.2.2)', (cacheControl, seconds) => {
  expect(freshSeconds(cacheControl)).toBe(seconds)
})
