import { formatScope, isSameResource, isWithinScope } from '@valetkey/oauth-protocol'
import type { RefreshTokenRecord } from '../../storage/postgres/refresh-tokens.js'

/** What to do with a refresh request. */
export type RefreshEvaluation =
  | { kind: 'rotate'; scope: readonly string[] }
  /** The grant was refreshed too often. */
  | { kind: 'wait'; seconds: number }
  /** The client lost the response: it gets the same one again. */
  | { kind: 'repeat_response'; response: Buffer; scope: readonly string[] }
  /**
   * The grant ends. `reused`: two parties have the token (RFC 9700 §4.14.2). `sign_in_too_old`: its user may have left the
   * organization (`SIGN_IN_AT_LEAST_EVERY`). `no_scope_left`: operators took every scope from the client, or deleted it.
   */
  | { kind: 'end_grant'; reason: 'reused' | 'sign_in_too_old' | 'no_scope_left' }
  | { kind: 'refuse'; error: RefreshError; reason: string }

export type RefreshError =
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_dpop_proof'
  | 'invalid_client'

export type PresentedRefresh = {
  clientId: string
  scope: readonly string[] | undefined
  resource: string | undefined
  /** The thumbprint of the key whose possession the request proves. */
  dpopJkt: string | undefined
  /** Whether the request proves the key of the client. */
  provedKey?: boolean | undefined
}

/** Evaluates a refresh request against the stored token (RFC 6749 §6, RFC 9700 §4.14.2). */
export function evaluateRefresh(
  record: RefreshTokenRecord,
  presented: PresentedRefresh,
  pace: RefreshPace
): RefreshEvaluation {
  const refuse = (error: RefreshError, reason: string) => ({ kind: 'refuse', error, reason }) as const
  // First, so that another client learns nothing about the token, and changes nothing.
  if (record.clientId !== presented.clientId) return refuse('invalid_grant', 'wrong_client')
  // Here, so that a stolen token without its key changes nothing either (RFC 9449 §5).
  if (record.jkt !== undefined && presented.dpopJkt !== record.jkt) {
    return presented.dpopJkt === undefined
      ? refuse('invalid_dpop_proof', 'without_proof')
      : refuse('invalid_grant', 'wrong_key')
  }
  if (record.ended) return refuse('invalid_grant', 'grant_ended')
  // Before all that ends the grant, so that a stolen token without the key changes nothing.
  if (record.requiresKey && presented.provedKey !== true) return refuse('invalid_client', 'grant_requires_key')
  // Whatever the request asks for, the grant has ended. Its tokens must not work until the next valid request.
  if (record.signInTooOld) return { kind: 'end_grant', reason: 'sign_in_too_old' }
  if (record.remainingScope.length === 0) return { kind: 'end_grant', reason: 'no_scope_left' }
  // Undefined if the retry window is disabled or has closed, or if the successor has been used.
  const { rotation } = record
  const retryResponse = rotation?.retryResponse
  // Within the retry window, an expired token can still fetch its successor.
  if (record.expired && retryResponse === undefined) return refuse('invalid_grant', 'expired')
  // The scope is checked before reuse is evaluated: an invalid request must not end a grant.
  const requested = presented.scope ?? record.scope
  if (!isWithinScope(requested, record.scope)) return refuse('invalid_scope', 'wider_scope')
  // Clients may repeat the scope that they got first. What is lost is dropped, and the response says so.
  const scope = requested.filter((name) => record.remainingScope.includes(name))
  if (scope.length === 0) return refuse('invalid_scope', 'lost_scope')
  if (presented.resource !== undefined && !isSameResource(presented.resource, record.audience))
    return refuse('invalid_target', 'resource')

  if (rotation === undefined) {
    const seconds = secondsToWait(record.waitSeconds, pace)
    return seconds > 0 ? { kind: 'wait', seconds } : { kind: 'rotate', scope }
  }
  if (retryResponse === undefined) return { kind: 'end_grant', reason: 'reused' }
  if (rotation.retryScope !== requestedScopeKey(presented.scope))
    return refuse('invalid_scope', 'other_scope_in_retry_window')
  return { kind: 'repeat_response', response: retryResponse, scope }
}

/** The `scope` parameter in a form that does not depend on its order, to compare two requests. */
export function requestedScopeKey(scope: readonly string[] | undefined): string {
  return scope === undefined ? '' : formatScope(scope.toSorted())
}

/** How often a grant may be refreshed: `burst` times at once, then once in each interval. */
export type RefreshPace = { burst: number; intervalSeconds: number }

const BURST = 30

/**
 * The pace for clients with this access token lifetime. A client needs one refresh in the life of an access token; it may
 * make 60, but at most one in 10 seconds, at least one in a minute, and always 6. The pace bounds the rows of one grant to
 * 1 + burst + refresh token idle lifetime / interval, because rotated tokens are kept to detect their reuse.
 * @param accessTokenTtl seconds
 * @param factor multiplies the limit (`LIMITS_FACTOR`). Below 1 it reduces the burst and not the interval, so that clients
 *   can still refresh before their tokens expire
 */
export function refreshPace(accessTokenTtl: number, factor: number): RefreshPace {
  const intervalSeconds = Math.min(60, Math.max(10, accessTokenTtl / 60), accessTokenTtl / 6)
  return { burst: Math.max(1, Math.floor(BURST * factor)), intervalSeconds: intervalSeconds / Math.max(1, factor) }
}

/**
 * Seconds until the grant may be refreshed; 0: now.
 * @param waitSeconds as stored. A wait that is longer than the interval is ignored: the clock of Postgres was set back
 */
export function secondsToWait(waitSeconds: number, { intervalSeconds }: RefreshPace): number {
  return waitSeconds > Math.ceil(intervalSeconds) ? 0 : Math.ceil(Math.max(0, waitSeconds))
}
