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

/** What stands before the hashes in a limit's name. */
const kindOf = ({ name }: Limit): string => name.split(':', 1)[0] ?? ''

export type Limiter = {
  /**
   * Counts an attempt as failed, before or after it is judged: against the narrowest limit first, and against no wider one
   * when that is exceeded.
   * @throws {TooManyAttempts} when one of the limits is exceeded by it; then none of the others has counted it
   */
  count(limits: readonly Limit[]): Promise<void>
  /** Takes it back when it did not fail. */
  forget(limits: readonly Limit[]): Promise<void>
}

/**
 * @param factor multiplies every limit (`LIMITS_FACTOR`); one attempt is always left, or nobody could sign in
 * @param onRefusal hears which kind of limit refused an attempt
 */
export function createLimiter(
  counters: AttemptCounterStore,
  factor: number,
  onRefusal: (kind: string) => void = () => {}
): Limiter {
  const mostOf = (limit: Limit): number => Math.max(1, limit.count * factor)

  /** Of those that are exhausted as well: who waits for one brake only would run into the next. */
  async function waitsOf(limits: readonly Limit[]): Promise<number[]> {
    const looks = await Promise.all(limits.map(async (limit) => ({ limit, ...(await counters.look(limit.name)) })))
    return looks.filter(({ limit, count }) => count >= mostOf(limit)).map(({ remainingSeconds }) => remainingSeconds)
  }

  return {
    async count(limits) {
      for (const [index, limit] of limits.entries()) {
        const { count, remainingSeconds } = await counters.add(limit.name, limit.windowSeconds)
        if (count <= mostOf(limit)) continue
        onRefusal(kindOf(limit))
        // An attempt that is not judged is no failure. Counted against the others, it would lock them from one address.
        await Promise.all(limits.slice(0, index).map(({ name }) => counters.forget(name)))
        throw new TooManyAttempts(Math.max(remainingSeconds, ...(await waitsOf(limits.slice(index + 1)))))
      }
    },
    async forget(limits) {
      await Promise.all(limits.map((limit) => counters.forget(limit.name)))
    }
  }
}
