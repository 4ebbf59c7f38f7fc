import { STATUS_CODES } from 'node:http'
import {
  BEARER_ERROR_STATUS,
  type BearerErrorCode,
  bearerChallenge,
  DPOP_ERROR_STATUS,
  type DpopErrorCode,
  dpopChallenge
} from '@valetkey/oauth-protocol'
import { ANY_ORIGIN } from './any-origin.js'
import type { Problem, Refused, Unavailable } from './outcome.js'

/** What every refusal of one guard contains. */
export type ChallengeOptions = {
  realm: string
  scope: string | undefined
  /** Only in the challenge of a sign-in that is too old. */
  maxAge: number | undefined
  resourceMetadata: string
  isAnyOriginAllowed: boolean
  /** Undefined: the guard accepts bearer tokens only. */
  dpopMode: 'allowed' | 'required' | undefined
  /** The scheme of the request if it is not Bearer. An error is in the challenge of this scheme only (RFC 9449 §7.2). */
  scheme: 'DPoP' | undefined
}

/** One sentence for each code and all causes, because the response must not reveal why a token or proof is invalid. */
const DESCRIPTION: Readonly<Record<DpopErrorCode, string>> = {
  invalid_request: 'Send one access token, in one Authorization header, and nowhere else.',
  invalid_token: 'The access token is not valid here.',
  insufficient_user_authentication: 'This request needs a more recent sign-in of the user.',
  insufficient_scope: 'The access token does not cover this request.',
  invalid_dpop_proof: 'The DPoP proof is not valid for this request.',
  use_dpop_nonce: 'The DPoP proof needs the nonce of this response.'
}

const RETRY_AFTER_SECONDS = 2

/** 401 with challenges and no error code, for a request without credentials (RFC 6750 §3.1). */
export function requestCredentials(options: ChallengeOptions): Refused {
  const scheme = options.dpopMode === 'required' ? 'DPoP' : 'Bearer'
  const problem = describe(401, `This resource needs an access token: Authorization: ${scheme} …`)
  return { ...refusal(401, problem, options), reason: 'no_credentials' }
}

/**
 * Refuses a request with a code of RFC 6750 §3.1 or RFC 9449 §7.1, §9.
 * @param nonce for the client's next proof
 */
export function refuse(options: ChallengeOptions, code: DpopErrorCode, reason: string, nonce?: string): Refused {
  const description = DESCRIPTION[code]
  const status = DPOP_ERROR_STATUS[code] as Refused['status']
  const refused = { ...refusal(status, describe(status, description, code), options, { code, description }), reason }
  return nonce === undefined ? refused : { ...refused, headers: { ...refused.headers, ...nonceHeaders(nonce) } }
}

/** A response with a nonce must not be cached, because the nonce would be too old when the client gets it (RFC 9449 §8.2). */
export function nonceHeaders(nonce: string): Readonly<Record<string, string>> {
  return { 'dpop-nonce': nonce, 'cache-control': 'no-store' }
}

/** 503 when nothing can be said about the token or its proof. */
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

type ChallengeError = { code: DpopErrorCode; description: string }

function refusal(status: Refused['status'], problem: Problem, options: ChallengeOptions, error?: ChallengeError) {
  const challenges = challengesOf(options, error)
  const headers = { ...commonHeaders(options), 'www-authenticate': challenges.join(', ') }
  return { kind: 'refused' as const, status, headers, challenges, problem }
}

/** Bearer first, because simple clients read only the first challenge. */
function challengesOf(options: ChallengeOptions, error: ChallengeError | undefined): readonly string[] {
  const { realm, resourceMetadata, scope, maxAge, dpopMode, scheme } = options
  const basis = { realm, resourceMetadata, ...(scope && { scope }) }
  const age = error?.code === 'insufficient_user_authentication' && maxAge !== undefined && { maxAge }
  const bearer = () => bearerChallenge({ ...basis, ...age, ...(isBearerError(error) && { error }) })
  const dpop = () => dpopChallenge({ ...basis, ...age, ...(error && { error }) })
  if (dpopMode === undefined) return [bearer()]
  if (dpopMode === 'required') return [dpop()]
  // Two tokens, or a token at a wrong place, are an error of both schemes.
  if (error?.code === 'invalid_request') return [bearer(), dpop()]
  return scheme === 'DPoP' ? [bearerChallenge(basis), dpop()] : [bearer(), dpopChallenge(basis)]
}

function isBearerError(error: ChallengeError | undefined): error is { code: BearerErrorCode; description: string } {
  return error !== undefined && error.code in BEARER_ERROR_STATUS
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
