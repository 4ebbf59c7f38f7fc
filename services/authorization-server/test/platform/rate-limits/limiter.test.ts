import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createTestRedis, type TestRedis } from '@valetkey/dev-stack'
import { createLimiter, TooManyAttempts } from '../../../src/platform/rate-limits/limiter.js'
import type { Limit } from '../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'

let redis: TestRedis
let limit: Limit
let names = 0

beforeAll(() => {
  redis = createTestRedis()
})
afterAll(() => redis.close())
beforeEach(() => {
  limit = { name: `kind:${names++}`, count: 2, windowSeconds: 60 }
})

/** Waits until earlier calls of Redis have returned. */
const settle = () => redis.client.ping()

/** Attempts whose evaluation the test finishes. */
function heldAttempts(waiting: { milliseconds: number; attempts: number }) {
  const refusals: string[] = []
  const limiter = createLimiter(createAttemptCounterStore(redis.client), 1, (kind) => refusals.push(kind), waiting)
  const evaluations: ((isRight: boolean) => void)[] = []
  const evaluate = () => new Promise<boolean>((resolve) => evaluations.push(resolve))
  const attempt = (isKnown = false) =>
    limiter.attempt({ limits: [limit], isKnown, evaluate, isFailure: (isRight) => !isRight })
  return { attempt, evaluations, refusals }
}

async function untilEvaluating(evaluations: readonly unknown[], count: number): Promise<void> {
  while (evaluations.length < count) await new Promise((resolve) => setImmediate(resolve))
}

describe('attempts in flight (contract "Limits")', () => {
  test('evaluates at most as many attempts concurrently as failures are left; a success admits the next', async () => {
    const { attempt, evaluations } = heldAttempts({ milliseconds: 60_000, attempts: 10 })
    const attempts = [attempt(), attempt(), attempt()]
    await untilEvaluating(evaluations, 2)
    await settle()
    expect(evaluations).toHaveLength(2)
    evaluations[0]?.(true)
    await untilEvaluating(evaluations, 3)
    for (const end of evaluations) end(true)
    expect(await Promise.all(attempts)).toEqual([true, true, true])
  })

  test('waiting attempts are refused with the rest of the window after others have exhausted the limit', async () => {
    const { attempt, evaluations } = heldAttempts({ milliseconds: 60_000, attempts: 10 })
    const attempts = [attempt(), attempt(), attempt(), attempt()]
    await untilEvaluating(evaluations, 2)
    for (const end of evaluations) end(false)
    const ends = await Promise.allSettled(attempts)
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(ends[3]).toMatchObject({ reason: { reason: 'too_many_attempts', retryAfterSeconds: 60 } })
  })

  test('an attempt that would wait too long is refused with Retry-After, and is not counted', async () => {
    const { attempt, evaluations, refusals } = heldAttempts({ milliseconds: 30, attempts: 10 })
    const evaluated = [attempt(), attempt()]
    await untilEvaluating(evaluations, 2)
    await expect(attempt()).rejects.toMatchObject({ reason: 'too_many_at_once', retryAfterSeconds: 5 })
    expect(refusals).toEqual(['sign-in-waiting'])
    expect(await redis.client.exists(`vk:attempts:${limit.name}`)).toBe(0)
    for (const end of evaluations) end(true)
    await Promise.all(evaluated)
  })

  test('attempts beyond the queue are refused immediately, except those of known browsers', async () => {
    const { attempt, evaluations } = heldAttempts({ milliseconds: 60_000, attempts: 1 })
    const attempts = [attempt(), attempt(), attempt()]
    await untilEvaluating(evaluations, 2)
    await expect(attempt()).rejects.toThrow(TooManyAttempts)
    const known = attempt(true)
    await expect(attempt(true)).rejects.toThrow(TooManyAttempts)
    evaluations[0]?.(true)
    evaluations[1]?.(true)
    await untilEvaluating(evaluations, 4)
    for (const end of evaluations) end(true)
    expect(await Promise.all([...attempts, known])).toEqual([true, true, true, true])
  })

  test('an attempt that throws is not counted, and releases its place', async () => {
    const limiter = createLimiter(createAttemptCounterStore(redis.client), 1)
    const failing = () =>
      limiter.attempt({
        limits: [limit],
        isKnown: false,
        isFailure: () => true,
        evaluate: async () => Promise.reject(new Error('away'))
      })
    for (let time = 0; time < 3; time++) await expect(failing()).rejects.toThrow('away')
    expect(await redis.client.exists(`vk:attempts:${limit.name}`)).toBe(0)
  })
})
