import { formatScope, isWithinScope } from '@valetkey/oauth-protocol'
import type { RefreshTokenRecord } from '../../storage/postgres/refresh-tokens.js'

/** What a presented refresh token leads to. */
export type RefreshEvaluation =
  | { kind: 'rotate'; scope: readonly string[] }
  /** The client lost the answer: it gets the very same one again. */
  | { kind: 'repeat_answer'; answer: Buffer; scope: readonly string[] }
  /** Two parties hold the token: the grant ends (RFC 9700 §4.14.2). */
  | { kind: 'end_grant' }
  | { kind: 'refuse'; error: 'invalid_grant' | 'invalid_scope' | 'invalid_target'; reason: string }

export type PresentedRefresh = {
  clientId: string
  scope: readonly string[] | undefined
  resource: string | undefined
}

/** Judges a refresh request by what is stored of its token (RFC 6749 §6, RFC 9700 §4.14.2). */
export function evaluateRefresh(record: RefreshTokenRecord, presented: PresentedRefresh): RefreshEvaluation {
  const refuse = (error: 'invalid_grant' | 'invalid_scope' | 'invalid_target', reason: string) =>
    ({ kind: 'refuse', error, reason }) as const
  // Another client's token tells that client nothing and changes nothing, used or not.
  if (record.clientId !== presented.clientId) return refuse('invalid_grant', 'wrong_client')
  if (record.ended) return refuse('invalid_grant', 'grant_ended')
  // The answer is gone when the window was off, has closed, or the successor has been used.
  const { rotation } = record
  const kept = rotation?.retryAnswer
  // A token may end within its own window: the new pair lives, and whoever lost it may still fetch it.
  if (record.expired && kept === undefined) return refuse('invalid_grant', 'expired')
  // What is wrong in itself ends nothing, so it is refused before the question of reuse.
  const scope = presented.scope ?? record.scope
  if (!isWithinScope(scope, record.scope)) return refuse('invalid_scope', 'wider_scope')
  if (presented.resource !== undefined && presented.resource !== record.audience)
    return refuse('invalid_target', 'resource')

  if (rotation === undefined) return { kind: 'rotate', scope }
  if (kept === undefined) return { kind: 'end_grant' }
  if (rotation.retryScope !== requestedScopeKey(presented.scope))
    return refuse('invalid_scope', 'other_scope_in_retry_window')
  return { kind: 'repeat_answer', answer: kept, scope }
}

/** The `scope` parameter in one form, for telling the same request from another; order does not matter. */
export function requestedScopeKey(scope: readonly string[] | undefined): string {
  return scope === undefined ? '' : formatScope(scope.toSorted())
}
