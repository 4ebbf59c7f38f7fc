import { cleanDisplayName, failureOfErrorCode, type ProviderFailure, providerFailure } from '@valetkey/sign-in-rules'
import { errors } from 'jose'
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError
} from 'openid-client'
import { ResponseTooLarge } from './bounded-fetch.js'
import { WrongIssuer } from './provider-discovery.js'
import { UnreadableKeys } from './provider-keys.js'

/** ID token claims that an error may name in the log. */
const CLAIMS = ['iss', 'aud', 'azp', 'nonce', 'exp', 'nbf', 'iat']

/** What a failed request to a provider, or a refused response of it, means for user and operator. */
export function classifyError(error: unknown): ProviderFailure {
  if (isTooLarge(error)) return providerFailure('misconfigured', 'response_too_large')
  const outage = findOutage(error)
  if (outage !== undefined) return providerFailure('unavailable', outage)
  if (error instanceof AuthorizationResponseError) return failureOfErrorCode(error.error)
  if (error instanceof ResponseBodyError) {
    return error.status >= 500 ? providerFailure('unavailable', 'http_5xx') : failureOfErrorCode(error.error)
  }
  // The token endpoint responds to a wrong secret with a challenge.
  if (error instanceof WWWAuthenticateChallengeError) return providerFailure('misconfigured', 'invalid_client')
  if (error instanceof WrongIssuer) return providerFailure('misconfigured', 'wrong_issuer')
  if (error instanceof UnreadableKeys) return providerFailure('misconfigured', 'http_4xx')
  if (error instanceof errors.JOSEError) return providerFailure('misconfigured', reasonOfIdToken(error))
  if (error instanceof ClientError) return classifyResponse(error)
  return providerFailure('misconfigured', 'unexpected_response')
}

/** Anywhere in the chain of causes. */
function isTooLarge(error: unknown): boolean {
  return error instanceof ResponseTooLarge || (error !== undefined && isTooLarge(membersOf(error).cause))
}

function reasonOfIdToken(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'wrong_exp'
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return 'unexpected_response'
    return CLAIMS.includes(error.claim) ? `wrong_${error.claim}` : 'wrong_claim'
  }
  return REASONS_OF_CODES.get(error.code) ?? 'unexpected_response'
}

const REASONS_OF_CODES: ReadonlyMap<string, string> = new Map([
  [errors.JWSSignatureVerificationFailed.code, 'bad_signature'],
  [errors.JWKSNoMatchingKey.code, 'unknown_key'],
  [errors.JWKSMultipleMatchingKeys.code, 'unknown_key'],
  [errors.JOSEAlgNotAllowed.code, 'wrong_alg'],
  [errors.JOSENotSupported.code, 'wrong_alg']
])

function classifyResponse({ code, cause }: ClientError): ProviderFailure {
  const details = detailsOf(cause)
  const { claim } = details
  switch (code) {
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
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
  const inner = membersOf(cause).cause
  return membersOf(inner === undefined ? cause : inner)
}

/** A provider that does not respond, or responds with 5xx, anywhere in the chain of causes. */
function findOutage(error: unknown): 'timeout' | 'unreachable' | 'http_5xx' | undefined {
  const { name, message, status, cause } = membersOf(error)
  if (name === undefined) return Number(status) >= 500 || status === 429 ? 'http_5xx' : undefined
  if (name === 'TimeoutError' || name === 'AbortError' || name === 'JWKSTimeout') return 'timeout'
  // The errors of `fetch`: no connection, or a connection that broke during the response.
  if (message === 'fetch failed' || message === 'terminated') return 'unreachable'
  return findOutage(cause)
}

/**
 * Returns a text for the operator's log: that of the library, and the code of the innermost cause. Contains no code, state or
 * token.
 */
export function describeError(error: unknown): string {
  const described = descriptionOf(error)
  const { message, cause } = membersOf(error)
  const { name, message: explanation } = membersOf(cause)
  // Other causes may quote a response.
  const explained = name === 'OperationProcessingError' ? explanation : undefined
  const parts = [message, explained, described, differentIssuer(cause), innermostCode(error)]
  return parts.filter((part) => part !== undefined).join(': ')
}

/**
 * Returns the description of the token endpoint and UserInfo only: a browser could have made up the description of an
 * authorization response.
 */
function descriptionOf(error: unknown): string | undefined {
  if (error instanceof ResponseBodyError) return cleanDisplayName(error.error_description)
  if (!(error instanceof WWWAuthenticateChallengeError)) return undefined
  const { error: code, error_description: description } = error.cause[0]?.parameters ?? {}
  return cleanDisplayName([error.status, code, description].filter((part) => part !== undefined).join(': '))
}

/** The issuer of metadata that the library refused, because it is not the configured one. */
function differentIssuer(cause: unknown): string | undefined {
  const { attribute, body } = detailsOf(cause)
  return attribute === 'issuer' ? cleanDisplayName(membersOf(body).issuer) : undefined
}

function innermostCode(error: unknown): unknown {
  const { code, cause } = membersOf(error)
  return (cause === undefined ? undefined : innermostCode(cause)) ?? (typeof code === 'string' ? code : undefined)
}

/** Returns the members of an error, or of a response as the cause of one. */
function membersOf(error: unknown): Readonly<Record<string, unknown>> {
  return typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>) : {}
}
