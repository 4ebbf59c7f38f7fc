import type { AccessToken } from './validate-token-and-scope.js'

/** Problem details (RFC 9457), for developers. Clients read the status and the challenge. */
export type Problem = { title: string; status: number; detail: string; error?: string }

export type Accepted = {
  kind: 'accepted'
  accessToken: AccessToken
  /** Headers that the response must have instead of its own; names in lower case. Absent if there are none. */
  headers?: Readonly<Record<string, string>>
}

/** The request has no valid token of sufficient scope. */
export type Refused = {
  kind: 'refused'
  status: 400 | 401 | 403
  /** All headers of the response; names in lower case. `www-authenticate` has all challenges, in one list. */
  headers: Readonly<Record<string, string>>
  /** The same challenges, one for each scheme. Write them as separate header fields, because simple clients read only one. */
  challenges: readonly string[]
  problem: Problem
  /** One of a few words that suit a counter. Only for the log: a response must not reveal it (RFC 6750 §3.1). */
  reason: string
}

/** Nothing is known about the token. Not 401, because clients would discard a token that may be valid. */
export type Unavailable = {
  kind: 'unavailable'
  status: 503
  headers: Readonly<Record<string, string>>
  problem: Problem
  /** A number of seconds. */
  retryAfter: number
  reason: string
}

/** The headers of a response, with a list for a header that has several fields. */
export function fieldsOf(outcome: Refused | Unavailable): Readonly<Record<string, string | string[]>> {
  if (outcome.kind === 'unavailable' || outcome.challenges.length < 2) return outcome.headers
  return { ...outcome.headers, 'www-authenticate': [...outcome.challenges] }
}

/** What a guard decides about a request. An adapter only writes it. */
export type Outcome = Accepted | Refused | Unavailable
