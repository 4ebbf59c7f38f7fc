import type { AccessToken } from './validate-token-and-scope.js'

/** Problem details (RFC 9457), for developers. Clients read the status and the challenge. */
export type Problem = { title: string; status: number; detail: string; error?: string }

export type Accepted = { kind: 'accepted'; accessToken: AccessToken }

/** The request has no valid token of sufficient scope. */
export type Refused = {
  kind: 'refused'
  status: 400 | 401 | 403
  /** All headers of the response; names in lower case. */
  headers: Readonly<Record<string, string>>
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

/** What a guard decides about a request. An adapter only writes it. */
export type Outcome = Accepted | Refused | Unavailable
