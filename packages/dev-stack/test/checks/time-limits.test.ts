import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { timeLimitsIn } = await library('checks/time-limits')

test.each([
  {
    name: 'a bound on a time that is measured in place',
    text: 'expect(performance.now() - began).toBeLessThan(1_000)'
  },
  { name: 'a bound with a constant', text: 'expect(Date.now() - startedAt).toBeLessThanOrEqual(BOUND_MS)' },
  {
    name: 'a bound on a measured time with a name',
    text: 'const passed = performance.now() - began\nexpect(passed).toBeLessThan(300)'
  },
  { name: 'a limit of a file', text: 'jest.setTimeout(600_000)' },
  { name: 'a limit of a hook', text: '  }, 180_000)' },
  { name: 'a limit of a test, with a constant', text: '}, TIME_LIMIT_MS)' }
])('$name is found', ({ text }) => {
  expect(timeLimitsIn(`first line\n${text}\n`)).toEqual([expect.stringMatching(/^line [23]: /)])
})

test.each([
  { name: 'a lower bound', text: 'expect(performance.now() - began).toBeGreaterThan(1_900)' },
  { name: 'a bound with a measurement', text: 'expect(performance.now() - began).toBeLessThan(1_000 + 10 * control)' },
  { name: 'an age below a measured time', text: 'expect(ageMs).toBeLessThanOrEqual(performance.now() - began)' },
  { name: 'a bound on a count', text: 'expect(sent.length).toBeLessThan(4)' }
])('$name is accepted', ({ text }) => {
  expect(timeLimitsIn(text)).toEqual([])
})
