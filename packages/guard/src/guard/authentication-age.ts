import type { ActiveResult } from '../introspection/introspection-result.js'

type Authentication = Pick<ActiveResult, 'authenticatedAt' | 'respondedAt' | 'receivedAt'>

/**
 * Whether the user has signed in at most `maxAge` seconds ago (RFC 9470 §3). A token without `auth_time` says nothing about it, so
 * it is not enough.
 */
export function isRecent(authentication: Authentication, maxAge: number | undefined, now: Date): boolean {
  if (maxAge === undefined) return true
  const { authenticatedAt } = authentication
  return authenticatedAt !== undefined && presentOf(authentication, now) - authenticatedAt.getTime() <= maxAge * 1000
}

/**
 * The present time, in milliseconds. `auth_time` and `Date` are of the same clock, that of the authorization server. So this clock
 * is only used without `Date`, and the age of a cached result counts.
 */
function presentOf({ respondedAt, receivedAt }: Authentication, now: Date): number {
  if (respondedAt === undefined || receivedAt === undefined) return now.getTime()
  return respondedAt.getTime() + performance.now() - receivedAt
}

/** @throws {TypeError} for anything but a number of whole seconds */
export function mustBeMaxAge(maxAge: unknown): void {
  if (maxAge === undefined || (Number.isSafeInteger(maxAge) && Number(maxAge) >= 0)) return
  throw new TypeError('maxAge must be a number of whole seconds')
}
