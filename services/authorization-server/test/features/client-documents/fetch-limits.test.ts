import { describe, expect, test } from '@jest/globals'
import { createFetchLimits, type TakenFetch } from '../../../src/features/client-documents/fetch-limits.js'

const RATES = {
  perMinute: 12,
  perOriginPerMinute: 6,
  perUserPerMinute: 6,
  atOnce: 4,
  perOriginAtOnce: 2,
  perUserAtOnce: 3
}

function start() {
  const clock = { now: 1_000 }
  const limits = createFetchLimits(RATES, () => clock.now)
  const begin = ([origin, userId]: readonly [string, string], isKnown = false) =>
    limits.begin({ origin, userId, isKnown })
  return { clock, begin }
}

function release(taken: TakenFetch): void {
  if (taken.kind === 'taken') taken.release()
}

describe('limits of fetches', () => {
  test('allow 2 concurrent fetches from one origin', () => {
    const { begin } = start()
    const first = begin(['https://a.example', 'u1'])
    begin(['https://a.example', 'u2'])
    expect(begin(['https://a.example', 'u3'])).toEqual({ kind: 'refused', retryAfterSeconds: 5 })
    expect(begin(['https://b.example', 'u3']).kind).toBe('taken')
    release(first)
    expect(begin(['https://a.example', 'u3']).kind).toBe('taken')
  })

  test('allow 4 concurrent fetches', () => {
    const { begin } = start()
    for (const name of ['a', 'b', 'c', 'd']) begin([`https://${name}.example`, name])
    expect(begin(['https://e.example', 'e'])).toEqual({ kind: 'refused', retryAfterSeconds: 5 })
  })

  test('at most 3 at once by one user', () => {
    const { begin } = start()
    for (const name of ['a', 'b', 'c']) begin([`https://${name}.example`, 'u'])
    expect(begin(['https://d.example', 'u'])).toEqual({ kind: 'refused', retryAfterSeconds: 5 })
    expect(begin(['https://d.example', 'v']).kind).toBe('taken')
  })

  test('a known client can be fetched when new ones have used up the limits of its origin and of the process', () => {
    const { begin } = start()
    for (let index = 0; index < 12; index++) {
      release(begin([index < 6 ? 'https://a.example' : `https://h${index}.example`, `u${index}`]))
    }
    for (const name of ['u20', 'u21']) expect(begin(['https://a.example', name]).kind).toBe('refused')
    expect(begin(['https://a.example', 'u20'], true).kind).toBe('taken')
  })

  test('fetches of known clients have the same limits', () => {
    const { begin } = start()
    for (let index = 0; index < 6; index++) release(begin(['https://a.example', `u${index}`], true))
    expect(begin(['https://a.example', 'u6'], true).kind).toBe('refused')
    expect(begin(['https://a.example', 'u6']).kind).toBe('taken')
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
