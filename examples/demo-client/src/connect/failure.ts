import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError
} from 'openid-client'
import type { ProblemName } from '../pages/problems.js'

/** A failure to show on a page; `detail` is the server's error code, `cause` is for the log. */
export type Failure = { problem: ProblemName; detail?: string; cause?: unknown }

/** Classifies an error of the client library. Errors that do not concern the authorization server are thrown again. */
export function failureOf(cause: unknown): Failure {
  if (cause instanceof AuthorizationResponseError) return fromAuthorizationEndpoint(cause)
  if (cause instanceof ResponseBodyError) return fromTokenEndpoint(cause)
  // At the token endpoint a challenge means that our id or secret is wrong (RFC 6749 §5.2).
  if (cause instanceof WWWAuthenticateChallengeError) return { problem: 'app_not_set_up', cause }
  if (cause instanceof ClientError) return fromLibrary(cause)
  if (cause instanceof TypeError && cause.message === 'fetch failed') return { problem: 'sign_in_unreachable', cause }
  throw cause
}

function fromAuthorizationEndpoint(cause: AuthorizationResponseError): Failure {
  switch (cause.error) {
    case 'access_denied':
      return { problem: 'access_denied', cause }
    case 'server_error':
    case 'temporarily_unavailable':
      return { problem: 'sign_in_unreachable', cause }
    case 'unauthorized_client':
      return { problem: 'app_not_set_up', detail: cause.error, cause }
    default:
      return { problem: 'request_refused', detail: cause.error, cause }
  }
}

function fromTokenEndpoint(cause: ResponseBodyError): Failure {
  if (cause.status === 429 || cause.error === 'temporarily_unavailable') {
    return { problem: 'sign_in_unreachable', cause }
  }
  if (cause.error === 'invalid_grant') return { problem: 'code_not_accepted', cause }
  const isAboutUs = cause.error === 'invalid_client' || cause.error === 'unauthorized_client'
  return { problem: isAboutUs ? 'app_not_set_up' : 'request_refused', detail: cause.error, cause }
}

function fromLibrary(cause: ClientError): Failure {
  switch (cause.code) {
    // A wrong or missing iss or state, or a repeated parameter.
    case 'OAUTH_INVALID_RESPONSE':
      return { problem: 'answer_not_genuine', cause }
    // The metadata names another issuer than our setting does (RFC 8414 §3.3).
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return { problem: 'app_not_set_up', cause }
    // An unexpected status (503 for example), something that is not JSON, a time-out.
    default:
      return { problem: 'sign_in_unreachable', cause }
  }
}
