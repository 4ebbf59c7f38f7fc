import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { isRecent } from '../../src/guard/authentication-age.js'

const NOW = new Date('2026-01-01T12:00:00Z')
const before = (seconds: number, time = NOW) => new Date(time.getTime() - seconds * 1000)

afterEach(() => {
  jest.restoreAllMocks()
})

describe('isRecent', () => {
  test.each([
    { name: 'a sign-in now', age: 0, maxAge: 300, isEnough: true },
    { name: 'a sign-in max_age ago', age: 300, maxAge: 300, isEnough: true },
    { name: 'a sign-in before max_age', age: 301, maxAge: 300, isEnough: false },
    { name: 'a sign-in of this second, max_age 0', age: 0, maxAge: 0, isEnough: true },
    { name: 'a sign-in one second ago, max_age 0', age: 1, maxAge: 0, isEnough: false },
    { name: 'a sign-in years ago, no max_age', age: 1e9, maxAge: undefined, isEnough: true },
    { name: 'a sign-in in the future, as a clock that is slow sees it', age: -60, maxAge: 300, isEnough: true },
    { name: 'a max_age that is no number', age: 0, maxAge: Number.NaN, isEnough: false }
  ])('without Date, by the clock of the API: $name: $isEnough', ({ age, maxAge, isEnough }) => {
    expect(isRecent({ authenticatedAt: before(age) }, maxAge, NOW)).toBe(isEnough)
  })

  test.each([0, 300, 1e9])('a token without auth_time is not recent, max_age %s', (maxAge) => {
    expect(isRecent({}, maxAge, NOW)).toBe(false)
  })

  test('a token without auth_time is enough without max_age', () => {
    expect(isRecent({}, undefined, NOW)).toBe(true)
  })

  test.each([
    { name: 'an hour fast', now: before(-3600) },
    { name: 'an hour slow', now: before(3600) }
  ])('with Date, the clock of the API does not matter: $name', ({ now }) => {
    const receivedAt = performance.now()
    const agedBy = (seconds: number) => ({ authenticatedAt: before(seconds), respondedAt: NOW, receivedAt })
    expect(isRecent(agedBy(200), 300, now)).toBe(true)
    expect(isRecent(agedBy(301), 300, now)).toBe(false)
  })

  test('with Date, a cached result gets older', () => {
    const result = { authenticatedAt: before(290), respondedAt: NOW, receivedAt: 5_000 }
    const clock = jest.spyOn(performance, 'now')
    for (const [passedMs, isEnough] of [
      [10_000, true],
      [10_001, false]
    ] as const) {
      clock.mockReturnValue(5_000 + passedMs)
      expect([passedMs, isRecent(result, 300, NOW)]).toEqual([passedMs, isEnough])
    }
  })
})
