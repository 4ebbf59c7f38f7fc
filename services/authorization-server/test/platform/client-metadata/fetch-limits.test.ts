import { describe, expect, test } from '@jest/globals'
import { createFetchLimits, type TakenFetch } from '../../../src/platform/client-metadata/fetch-limits.js'

const RATES = { perMinute: 12, perOriginPerMinute: 6, perUserPerMinute: 6, atOnce: 4, perOriginAtOnce: 2 }

function start() {
  const clock = { now: 1_000 }
  const limits = createFetchLimits(RATES, () => clock.now)
  return { clock, begin: ([origin, user]: readonly [string, string]) => limits.begin(origin, user) }
}

function release(taken: TakenFetch): void {
  if (taken.kind === 'taken') taken.release()
}

describe('limits of fetches', () => {
  test('allows 2 concurrent fetches from one origin', () => {
    const { begin } = start()
    const first = begin(['https://a.example', 'u1'])
    begin(['https://a.example', 'u2'])
    expect(begin(['https://a.example', 'u3'])).toEqual({ kind: 'refused', retryAfterSeconds: 5 })
    expect(begin(['https://b.example', 'u3']).kind).toBe('taken')
    release(first)
    expect(begin(['https://a.example', 'u3']).kind).toBe('taken')
  })

  test('allows 4 concurrent fetches', () => {
    const { begin } = start()
    for (const name of ['a', 'b', 'c', 'd']) begin([`https://${name}.example`, name])
    expect(begin(['https://e.example', 'e'])).toEqual({ kind: 'refused', retryAfterSeconds: 5 })
  })

  test.each([
    ['from one origin', 6, (index: number) => ['https://a.example', `u${index}`] as const],
    ['by one user', 6, (index: number) => [`https://h${index}.example`, 'u'] as const],
    ['in total', 12, (index: number) => [`https://h${index}.example`, `u${index}`] as const]
  ])('a minute: %s', (_what, most, at) => {
    const { clock, begin } = start()
    for (let index = 0; index < most; index++) {
      const taken = begin(at(index))
      expect(taken.kind).toBe('taken')
      release(taken)
    }
    clock.now += 30_000
    expect(begin(at(most))).toEqual({ kind: 'refused', retryAfterSeconds: 30 })
    clock.now += 30_000
    expect(begin(at(most)).kind).toBe('taken')
  })
})
