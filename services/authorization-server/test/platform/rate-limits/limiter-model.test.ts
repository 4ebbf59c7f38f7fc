import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { createTestRedis, type TestRedis } from '@valetkey/dev-stack'
import { canonicalName } from '@valetkey/sign-in-rules'
import { array, assert, asyncProperty, boolean, constantFrom, integer, record } from 'fast-check'
import { createLimiter, type Limiter, TooManyAttempts } from '../../../src/platform/rate-limits/limiter.js'
import { type Limit, signInLimits } from '../../../src/platform/rate-limits/rules.js'
import { createAttemptCounterStore } from '../../../src/storage/redis/attempt-counters.js'

// A tenth of each limit: 2 for an account and address, 10 for an address, 20 for an account.
const FACTOR = 0.1
const mostOf = (limit: Limit) => limit.count * FACTOR
const WAITING = { milliseconds: 60_000, attempts: 1_000 }

let redis: TestRedis
let runs = 0

beforeAll(() => {
  redis = createTestRedis()
})
afterAll(() => redis.close())
afterEach(async () => {
  for (const key of await redis.client.keys('vk:attempts:*')) await redis.client.del(key)
})

const attempts = (instances: number) =>
  array(
    record({
      instance: integer({ min: 0, max: instances - 1 }),
      account: constantFrom('alice', 'bob', 'carol'),
      address: constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'),
      isKnown: boolean(),
      isCorrect: boolean(),
      // Turns of the event loop before the attempt, and during its evaluation.
      after: integer({ min: 0, max: 20 }),
      takes: integer({ min: 0, max: 5 })
    }),
    { maxLength: 80 }
  )

type Outcome = { isCorrect: boolean }
type Ended = { limits: readonly Limit[]; isCorrect: boolean; refusal: TooManyAttempts | undefined; counts: number[] }

/** Starts all attempts concurrently, each on its instance, with new accounts for each run. */
async function runAll(
  given: readonly {
    instance: number
    account: string
    address: string
    isKnown: boolean
    isCorrect: boolean
    after: number
    takes: number
  }[],
  limiters: readonly Limiter[]
): Promise<Ended[]> {
  runs += 1
  return Promise.all(
    given.map(async ({ instance, account, address, isKnown, isCorrect, after, takes }) => {
      const limits = signInLimits(canonicalName(`${account}${runs}`), `${address}-${runs}`, isKnown)
      for (let step = 0; step < after; step++) await turn()
      const evaluate = async (): Promise<Outcome> => {
        for (let step = 0; step < takes; step++) await turn()
        return { isCorrect }
      }
      const isFailure = (outcome: Outcome) => !outcome.isCorrect
      const refusal = await limiters[instance]?.attempt({ limits, isKnown, evaluate, isFailure }).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof TooManyAttempts) return error
          throw error
        }
      )
      const counts = await Promise.all(
        limits.map(async ({ name }) => Number(await redis.client.get(`vk:attempts:${name}`)))
      )
      return { limits, isCorrect, refusal, counts }
    })
  )
}

/** Properties of every mix of correct and wrong attempts. */
async function expectLimitsHeld(ended: readonly Ended[], instances: number): Promise<void> {
  const failures = new Map<string, { limit: Limit; evaluated: number }>()
  for (const { limits, isCorrect, refusal, counts } of ended) {
    // An attempt is refused only if one of its own limits is exhausted, never because of the number of attempts.
    if (refusal !== undefined) {
      expect(refusal.reason).toBe('too_many_attempts')
      expect(limits.some((limit, index) => (counts[index] ?? 0) >= mostOf(limit))).toBe(true)
    }
    for (const limit of limits) {
      const known = failures.get(limit.name) ?? { limit, evaluated: 0 }
      failures.set(limit.name, { limit, evaluated: known.evaluated + (isCorrect || refusal !== undefined ? 0 : 1) })
    }
  }
  for (const [name, { limit, evaluated }] of failures) {
    expect(evaluated).toBeLessThanOrEqual(mostOf(limit) * instances)
    const counted = await redis.client.get(`vk:attempts:${name}`)
    expect(Number(counted)).toBe(Math.min(evaluated, mostOf(limit)))
    // Keys exist only after failures, and every key expires.
    expect(counted === null).toBe(evaluated === 0)
    if (evaluated === 0) continue
    const left = await redis.client.pttl(`vk:attempts:${name}`)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(limit.windowSeconds * 1000)
  }
}

test.each([1, 2])(
  'concurrent correct and wrong attempts at %i instances: a correct one is refused for exhausted limits only, and failures stay within the limits (contract "Limits")',
  async (instances) => {
    await assert(
      asyncProperty(attempts(instances), async (given) => {
        const limiters = Array.from({ length: instances }, () =>
          createLimiter(createAttemptCounterStore(redis.client), FACTOR, undefined, WAITING)
        )
        await expectLimitsHeld(await runAll(given, limiters), instances)
      }),
      { numRuns: 60 }
    )
  }
)

test('concurrent correct attempts are never refused and leave no key', async () => {
  await assert(
    asyncProperty(attempts(2), async (given) => {
      const limiters = [0, 1].map(() =>
        createLimiter(createAttemptCounterStore(redis.client), FACTOR, undefined, WAITING)
      )
      const ended = await runAll(
        given.map((each) => ({ ...each, isCorrect: true })),
        limiters
      )
      expect(ended.filter(({ refusal }) => refusal !== undefined)).toEqual([])
    }),
    { numRuns: 20 }
  )
  expect(await redis.client.keys('vk:attempts:*')).toEqual([])
})
