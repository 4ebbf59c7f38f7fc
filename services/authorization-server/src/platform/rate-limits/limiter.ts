import type { AttemptCounterStore } from '../../storage/redis/attempt-counters.js'
import { createInFlight, type Entry } from './in-flight.js'
import type { Limit } from './rules.js'

/** Why an attempt is refused; `too_many_at_once` says nothing of failures. */
export type LimitReason = 'too_many_attempts' | 'too_many_at_once' | 'too_many_refreshes'

/** Answered with 429 and `Retry-After`; it ends by itself. */
export class TooManyAttempts extends Error {
  readonly retryAfterSeconds: number
  readonly reason: LimitReason
  constructor(retryAfterSeconds: number, reason: LimitReason = 'too_many_attempts') {
    super(reason.replaceAll('_', ' '))
    this.name = 'TooManyAttempts'
    this.retryAfterSeconds = retryAfterSeconds
    this.reason = reason
  }
}

/** What stands before the hashes in a limit's name. */
const kindOf = ({ name }: Limit): string => name.split(':', 1)[0] ?? ''

/** Seconds after which an attempt that found too many others in flight should come again. */
const RETRY_SOON = 5

/**
 * How long an attempt waits for others, and how many may wait. All that are in flight are hashed one after the other, so 230
 * people behind one address take 3 seconds where a hash takes 13 ms, and 20 where the machine is slow or busy.
 */
const WAITING = { milliseconds: 20_000, attempts: 1_000 }

export type Judging<Outcome> = {
  limits: readonly Limit[]
  /** Whether this caller may wait even when the queue is full for others; it has a bound of the same size for itself. */
  isKnown: boolean
  judge: () => Promise<Outcome>
  isFailure: (outcome: Outcome) => boolean
}

export type Limiter = {
  /**
   * Judges an attempt, and counts it if it has failed. No more attempts are judged at once than failures are left in each of
   * the limits; the others wait. An attempt that throws is not counted.
   * @throws {TooManyAttempts} before it is judged: when a limit is exhausted, or the attempt would wait for too long
   */
  attempt<Outcome>(judging: Judging<Outcome>): Promise<Outcome>
  /**
   * Counts a failure that is known already.
   * @throws {TooManyAttempts} when the limit was exhausted before; then nothing is counted
   */
  count(limit: Limit): Promise<void>
}

/**
 * @param factor multiplies every limit (`LIMITS_FACTOR`); one attempt is always left, or nobody could sign in
 * @param onRefusal hears which kind of limit refused an attempt
 */
export function createLimiter(
  counters: AttemptCounterStore,
  factor: number,
  onRefusal: (kind: string) => void = () => {},
  waiting = WAITING
): Limiter {
  const mostOf = (limit: Limit): number => Math.max(1, Math.floor(limit.count * factor))
  const inFlight = createInFlight()
  let arrivals = 0

  function refuse(kind: string, retryAfterSeconds: number, reason: LimitReason): TooManyAttempts {
    onRefusal(kind)
    return new TooManyAttempts(retryAfterSeconds, reason)
  }

  /** @throws {TooManyAttempts} when it would be too long */
  function waitForPlaces(entry: Entry, deadline: number, isKnown: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      if (inFlight.take(entry)) return resolve()
      const giveUp = () => reject(refuse('sign-in-waiting', RETRY_SOON, 'too_many_at_once'))
      if (inFlight.waiting() >= waiting.attempts * (isKnown ? 2 : 1)) return giveUp()
      const timer = setTimeout(() => inFlight.stopWaiting(entry) && giveUp(), Math.max(0, deadline - performance.now()))
      entry.admit = () => {
        clearTimeout(timer)
        resolve()
      }
      inFlight.wait(entry)
    })
  }

  /**
   * One look at the counters. All that are in flight beside this attempt may fail, and a failure is counted before its
   * places are given back: so what is counted, and what held a place when the look began, is all that there can be.
   * @returns whether this attempt may be judged even if all of them fail
   */
  async function mayBeEvaluated(limits: readonly Limit[], entry: Entry): Promise<boolean> {
    const held = entry.names.map(inFlight.held)
    const looks = await Promise.all(limits.map(({ name }) => counters.look(name)))
    const states = limits.map((limit, index) => {
      const { count, remainingSeconds } = looks[index] ?? { count: 0, remainingSeconds: 1 }
      return { limit, left: mostOf(limit) - count, held: held[index] ?? 1, remainingSeconds }
    })
    const exhausted = states.filter(({ left }) => left <= 0)
    // Attempts that wait for an exhausted limit need not wait: each of them looks and is refused.
    for (const { limit, left } of states) inFlight.allow(limit.name, left > 0 ? left : mostOf(limit))
    const [first] = exhausted
    if (first !== undefined) {
      const seconds = Math.max(...exhausted.map(({ remainingSeconds }) => remainingSeconds))
      throw refuse(kindOf(first.limit), seconds, 'too_many_attempts')
    }
    return states.every(({ held, left }) => held <= left)
  }

  return {
    async attempt({ limits, isKnown, judge, isFailure }) {
      const names = limits.map(({ name }) => name)
      const entry: Entry = { names, most: limits.map(mostOf), arrival: arrivals++, admit: () => {} }
      const deadline = performance.now() + waiting.milliseconds
      for (;;) {
        await waitForPlaces(entry, deadline, isKnown)
        try {
          if (!(await mayBeEvaluated(limits, entry))) continue
          const outcome = await judge()
          if (isFailure(outcome)) {
            await Promise.all(limits.map((limit) => counters.add(limit.name, mostOf(limit), limit.windowSeconds)))
          }
          return outcome
        } finally {
          inFlight.leave(entry)
        }
      }
    },

    async count(limit) {
      const { counted, remainingSeconds } = await counters.add(limit.name, mostOf(limit), limit.windowSeconds)
      if (!counted) throw refuse(kindOf(limit), remainingSeconds, 'too_many_attempts')
    }
  }
}
