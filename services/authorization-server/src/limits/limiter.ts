import type { AttemptCounterStore } from '../storage/attempt-counters.js'
import type { Limit } from './rules.js'

/** Answered with 429 and `Retry-After`; it ends by itself. */
export class TooManyAttempts extends Error {
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number) {
    super('too many failed attempts')
    this.name = 'TooManyAttempts'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export type Limiter = {
  /**
   * Counts an attempt as failed, before or after it is judged.
   * @throws {TooManyAttempts} when one of the limits is exceeded by it
   */
  count(limits: readonly Limit[]): Promise<void>
  /** Takes it back when it did not fail. */
  forget(limits: readonly Limit[]): Promise<void>
}

/** @param factor multiplies every limit (`LIMITS_FACTOR`); one attempt is always left, or nobody could sign in */
export function createLimiter(counters: AttemptCounterStore, factor: number): Limiter {
  return {
    async count(limits) {
      const counts = await Promise.all(
        limits.map(async (limit) => ({ limit, ...(await counters.add(limit.name, limit.windowSeconds)) }))
      )
      const exceeded = counts.filter(({ limit, count }) => count > Math.max(1, limit.count * factor))
      if (exceeded.length > 0) {
        throw new TooManyAttempts(Math.max(...exceeded.map(({ remainingSeconds }) => remainingSeconds)))
      }
    },
    async forget(limits) {
      await Promise.all(limits.map((limit) => counters.forget(limit.name)))
    }
  }
}
