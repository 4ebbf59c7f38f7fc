import { classifyPostgresError, isUnprepared, problemOfStatement } from '../postgres/postgres-problem.js'
import { problemOfRedis } from '../redis/redis-problem.js'
import type { StoreProblem } from './store-problem.js'

/** Postgres or Redis did not answer, or cannot work right now. Answered with 503, never with a 4xx. */
export class StoreUnavailable extends Error {
  readonly store: 'postgres' | 'redis'
  constructor(store: 'postgres' | 'redis', cause: unknown) {
    super(`${store} is unavailable`, { cause })
    this.name = 'StoreUnavailable'
    this.store = store
  }
}

/** Whether a request that failed with this is answered with 503 and may be sent again later. */
export const isOutage = (error: unknown): boolean => error instanceof StoreUnavailable || isUnprepared(error)

/** What the failure of a probe says about a store. Undefined when the probe was of something else. */
export function problemOf(error: unknown): StoreProblem | undefined {
  if (!(error instanceof StoreUnavailable)) return problemOfStatement(error)
  if (error.store === 'redis') return problemOfRedis(error.cause) ?? { reason: 'refuses a command' }
  const verdict = classifyPostgresError(error.cause)
  return verdict.kind === 'away' ? verdict.problem : problemOfStatement(error.cause)
}
