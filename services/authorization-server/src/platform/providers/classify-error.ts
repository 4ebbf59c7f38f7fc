import { cleanDisplayName, failureOfErrorCode, type ProviderFailure, providerFailure } from '@valetkey/sign-in-rules'
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError
} from 'openid-client'
import { WrongIssuer } from './discovery.js'

/** ID token claims that an error may name in the log. */
const CLAIMS = ['iss', 'aud', 'azp', 'nonce', 'exp', 'nbf', 'iat']

/** What a failed request to a provider, or a refused response of it, means for user and operator. */
export function classifyError(error: unknown): ProviderFailure {
  const outage = findOutage(error)
  if (outage !== undefined) return providerFailure('unavailable', outage)
  if (error instanceof AuthorizationResponseError) return failureOfErrorCode(error.error)
  if (error instanceof ResponseBodyError) {
    return error.status >= 500 ? providerFailure('unavailable', 'http_5xx') : failureOfErrorCode(error.error)
  }
  // The token endpoint answers a wrong secret, and UserInfo a wrong token, with a challenge.
  if (error instanceof WWWAuthenticateChallengeError) return providerFailure('misconfigured', 'invalid_client')
  if (error instanceof WrongIssuer) return providerFailure('misconfigured', 'wrong_issuer')
  if (error instanceof ClientError) return classifyResponse(error)
  return providerFailure('misconfigured', 'unexpected_response')
}

function classifyResponse({ code, cause }: ClientError): ProviderFailure {
  const details = detailsOf(cause)
  const { claim } = details
  switch (code) {
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      if (claim === 'auth_time') return providerFailure('not_confirmed', 'not_confirmed')
      return providerFailure('misconfigured', CLAIMS.includes(String(claim)) ? `wrong_${claim}` : 'wrong_claim')
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return providerFailure('misconfigured', details.attribute === 'issuer' ? 'wrong_issuer' : 'wrong_subject')
    case 'OAUTH_KEY_SELECTION_FAILED':
      return providerFailure('misconfigured', 'unknown_key')
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
      return providerFailure('misconfigured', 'http_4xx')
    case 'OAUTH_UNSUPPORTED_OPERATION':
      return providerFailure('misconfigured', 'wrong_alg')
    default:
      if ('signature' in details) return providerFailure('misconfigured', 'bad_signature')
      if ('header' in details) return providerFailure('misconfigured', 'wrong_alg')
      return providerFailure('misconfigured', 'unexpected_response')
  }
}

/** The library describes an error in the `cause` of its cause. */
function detailsOf(cause: unknown): Readonly<Record<string, unknown>> {
  const inner = cause instanceof Error ? cause.cause : cause
  return typeof inner === 'object' && inner !== null ? (inner as Readonly<Record<string, unknown>>) : {}
}

/** A provider that does not respond, or responds with 5xx, anywhere in the chain of causes. */
function findOutage(error: unknown): 'timeout' | 'unreachable' | 'http_5xx' | undefined {
  if (error instanceof Response) return error.status >= 500 || error.status === 429 ? 'http_5xx' : undefined
  if (!(error instanceof Error)) return undefined
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return 'timeout'
  // The errors of `fetch`: no connection, or a connection that broke during the response.
  if (error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message)) return 'unreachable'
  return findOutage(error.cause)
}

/** For the operator's log: the library's text, and the code of the innermost cause. Contains no code, state or token. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return ''
  // Only the token endpoint, over TLS: a browser could have made up the description of an authorization response.
  const described = error instanceof ResponseBodyError ? cleanDisplayName(error.error_description) : undefined
  const code = innermostCode(error)
  return [error.message, described, code].filter((part) => part !== undefined).join(': ')
}

function innermostCode(error: Error): string | undefined {
  const inner = error.cause instanceof Error ? innermostCode(error.cause) : undefined
  return inner ?? ('code' in error && typeof error.code === 'string' ? error.code : undefined)
}
