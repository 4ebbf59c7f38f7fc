import { STATUS_CODES } from 'node:http'
import { BEARER_ERROR_STATUS, type BearerErrorCode, bearerChallenge } from '@valetkey/oauth-protocol'
import { ANY_ORIGIN } from './any-origin.js'
import type { Problem, Refused, Unavailable } from './outcome.js'

/** What every refusal of one guard contains. */
export type ChallengeOptions = {
  realm: string
  scope: string | undefined
  resourceMetadata: string
  isAnyOriginAllowed: boolean
}

/** One sentence for each code and all causes, because the response must not reveal why a token is invalid. */
const DESCRIPTION: Readonly<Record<BearerErrorCode, string>> = {
  invalid_request: 'Send one access token, in one Authorization header, and nowhere else.',
  invalid_token: 'The access token is not valid here.',
  insufficient_scope: 'The access token does not cover this request.'
}

const RETRY_AFTER_SECONDS = 2

/** 401 with a challenge and no error code, for a request without credentials (RFC 6750 §3.1). */
export function requestCredentials(options: ChallengeOptions): Refused {
  const problem = describe(401, 'This resource needs an access token: Authorization: Bearer …')
  return { ...refusal(401, challenge(options), problem, options), reason: 'no_credentials' }
}

/** Refuses a request with a code of RFC 6750 §3.1. */
export function refuse(options: ChallengeOptions, code: BearerErrorCode, reason: string): Refused {
  const description = DESCRIPTION[code]
  const status = BEARER_ERROR_STATUS[code] as Refused['status']
  const problem = describe(status, description, code)
  return { ...refusal(status, challenge(options, { code, description }), problem, options), reason }
}

/** 503 when introspection fails. */
export function unavailable(options: Pick<ChallengeOptions, 'isAnyOriginAllowed'>, reason: string): Unavailable {
  return {
    kind: 'unavailable',
    status: 503,
    headers: { ...commonHeaders(options), 'retry-after': String(RETRY_AFTER_SECONDS) },
    problem: describe(503, 'Access tokens cannot be checked at the moment.', 'temporarily_unavailable'),
    retryAfter: RETRY_AFTER_SECONDS,
    reason
  }
}

function challenge(
  { realm, scope, resourceMetadata }: ChallengeOptions,
  error?: { code: BearerErrorCode; description: string }
): string {
  return bearerChallenge({ realm, resourceMetadata, ...(scope && { scope }), ...(error && { error }) })
}

function refusal(status: Refused['status'], challenge: string, problem: Problem, options: ChallengeOptions) {
  const headers = { ...commonHeaders(options), 'www-authenticate': challenge }
  return { kind: 'refused' as const, status, headers, problem }
}

function commonHeaders({ isAnyOriginAllowed }: Pick<ChallengeOptions, 'isAnyOriginAllowed'>) {
  return {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(isAnyOriginAllowed && ANY_ORIGIN)
  }
}

function describe(status: number, detail: string, error?: string): Problem {
  return { title: STATUS_CODES[status] ?? '', status, detail, ...(error && { error }) }
}
