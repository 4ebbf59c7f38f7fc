import type { AttemptCounterStore } from '../../storage/redis/attempt-counters.js'
import { createInFlight, type Entry, type InFlight } from './in-flight.js'
import type { Limit } from './rules.js'

/** Why an attempt is refused; `too_many_at_once` does not depend on failures. */
export type LimitReason = 'too_many_attempts' | 'too_many_at_once' | 'too_many_refreshes' | 'too_many_pushed_requests'

/** Response 429 with `Retry-After`. */
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

/** The part of a limit's name before the hashes. */
const kindOf = ({ name }: Limit): string => name.split(':', 1)[0] ?? ''

/** `Retry-After` in seconds for an attempt that found too many concurrent attempts. */
const RETRY_SOON = 5

/**
 * How long an attempt may take, with its wait for others and for the password queue, and how many may wait. The response leaves
 * within 20 seconds, also if a store needs a second. 230 users behind one address take 3 seconds if a hash takes 13 ms.
 */
export const WAITING = { milliseconds: 18_000, attempts: 1_000 }

type Attempt<Outcome> = {
  limits: readonly Limit[]
  /** Whether this caller may wait even if the queue is full for others; twice as many may then wait in total. */
  isKnown: boolean
  evaluate: () => Promise<Outcome>
  isFailure: (outcome: Outcome) => boolean
  /** When it stops waiting, on the clock of `performance.now()`, and the client it waits for. */
  until?: { deadline: number; client: AbortSignal }
}

export type Limiter = {
  /**
   * Evaluates an attempt, and counts it if it fails. No more attempts are evaluated at once than each of the limits has failures
   * left; the others wait. An attempt that throws is not counted.
   * @throws {TooManyAttempts} before the evaluation, if a limit is exhausted or the attempt would wait too long
   */
  attempt<Outcome>(attempt: Attempt<Outcome>): Promise<Outcome>
  /**
   * Counts a failure that has happened already.
   * @throws {TooManyAttempts} if the limit was exhausted before; then nothing is counted
   */
  count(limit: Limit): Promise<void>
}

/**
 * @param factor multiplies every limit (`LIMITS_FACTOR`); every limit allows at least one failure, so that sign-in stays possible
 * @param onRefusal receives the kind of the limit that refused an attempt
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

  /**
   * Reads the counters once. Every attempt in flight may fail, and a failure is counted before its places are released. So the
   * counted failures and the places that were taken before the read are an upper bound of the failures.
   * @returns whether this attempt may be evaluated even if all of them fail
   */
  async function mayBeEvaluated(limits: readonly Limit[], entry: Entry): Promise<boolean> {
    const taken = entry.names.map(inFlight.taken)
    const states = await readStates(counters, limits, mostOf)
    const exhausted = states.filter(({ left }) => left <= 0)
    // Attempts that wait for an exhausted limit are admitted at once: each reads the counters and is refused.
    for (const { limit, left } of states) inFlight.allow(limit.name, left > 0 ? left : mostOf(limit))
    const [first] = exhausted
    if (first !== undefined) {
      const seconds = Math.max(...exhausted.map(({ remainingSeconds }) => remainingSeconds))
      throw refuse(kindOf(first.limit), seconds, 'too_many_attempts')
    }
    return states.every(({ left }, index) => (taken[index] ?? 1) <= left)
  }

  return {
    async attempt({ limits, isKnown, evaluate, isFailure, until }) {
      const names = limits.map(({ name }) => name)
      const entry: Entry = { names, most: limits.map(mostOf), arrival: arrivals++, admit: () => {} }
      const { deadline, client } = until ?? { deadline: performance.now() + waiting.milliseconds, client: undefined }
      const mostWaiting = waiting.attempts * (isKnown ? 2 : 1)
      for (;;) {
        const hasPlaces = await waitForPlaces(inFlight, entry, { mostWaiting, deadline, client })
        if (!hasPlaces) throw refuse('sign-in-waiting', RETRY_SOON, 'too_many_at_once')
        try {
          if (!(await mayBeEvaluated(limits, entry))) continue
          const outcome = await evaluate()
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
      if (!counted) throw refuse(kindOf(limit), remainingSeconds, limit.reason ?? 'too_many_attempts')
    }
  }
}

type LimitState = { limit: Limit; left: number; remainingSeconds: number }

/** The failures that are left of each limit. */
async function readStates(
  counters: AttemptCounterStore,
  limits: readonly Limit[],
  mostOf: (limit: Limit) => number
): Promise<LimitState[]> {
  const looks = await Promise.all(limits.map(({ name }) => counters.look(name)))
  return limits.map((limit, index) => {
    const { count, remainingSeconds } = looks[index] ?? { count: 0, remainingSeconds: 1 }
    return { limit, left: mostOf(limit) - count, remainingSeconds }
  })
}

type WaitBounds = { mostWaiting: number; deadline: number; client: AbortSignal | undefined }

/** @returns false if too many attempts wait, the deadline passes, or the client has gone */
function waitForPlaces(
  inFlight: InFlight,
  entry: Entry,
  { mostWaiting, deadline, client }: WaitBounds
): Promise<boolean> {
  return new Promise((resolve) => {
    if (client?.aborted) return resolve(false)
    if (inFlight.take(entry)) return resolve(true)
    if (inFlight.waiting() >= mostWaiting) return resolve(false)
    const settle = (hasPlaces: boolean) => {
      clearTimeout(timer)
      client?.removeEventListener('abort', stop)
      resolve(hasPlaces)
    }
    const stop = () => inFlight.stopWaiting(entry) && settle(false)
    const timer = setTimeout(stop, Math.max(0, deadline - performance.now()))
    client?.addEventListener('abort', stop, { once: true })
    entry.admit = () => settle(true)
    inFlight.wait(entry)
  })
}
