import { classifyPostgresError, isUnprepared, problemOfStatement } from '../postgres/postgres-problem.js'
import { problemOfRedis } from '../redis/redis-problem.js'
import type { StoreProblem } from './store-problem.js'

/** Postgres or Redis did not respond, or cannot work now. The response is 503, never a 4xx. */
export class StoreUnavailable extends Error {
  readonly store: 'postgres' | 'redis'
  constructor(store: 'postgres' | 'redis', cause: unknown) {
    super(`${store} is unavailable`, { cause })
    this.name = 'StoreUnavailable'
    this.store = store
  }
}

/** Whether a request that failed with this error gets 503, so that the client may repeat it later. */
export const isOutage = (error: unknown): boolean => error instanceof StoreUnavailable || isUnprepared(error)

/** The problem of a store whose probe failed with this error. Undefined if the error is not from a store. */
export function problemOf(error: unknown): StoreProblem | undefined {
  if (!(error instanceof StoreUnavailable)) return problemOfStatement(error)
  if (error.store === 'redis') return problemOfRedis(error.cause) ?? { reason: 'refuses a command' }
  const verdict = classifyPostgresError(error.cause)
  return verdict.kind === 'unavailable' ? verdict.problem : problemOfStatement(error.cause)
}
