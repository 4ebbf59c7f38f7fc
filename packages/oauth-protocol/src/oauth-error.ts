/** Every error code of this service, with the RFC sections that define it. */
export type OAuthErrorCode =
  | 'invalid_request' // RFC 6749 §4.1.2.1, §5.2
  | 'invalid_client' // RFC 6749 §5.2
  | 'invalid_grant' // RFC 6749 §5.2
  | 'unauthorized_client' // RFC 6749 §4.1.2.1, §5.2
  | 'unsupported_grant_type' // RFC 6749 §5.2
  | 'unsupported_response_type' // RFC 6749 §4.1.2.1
  | 'invalid_scope' // RFC 6749 §4.1.2.1, §5.2
  | 'invalid_target' // RFC 8707 §2
  | 'invalid_dpop_proof' // RFC 9449 §5, §7.1
  | 'use_dpop_nonce' // RFC 9449 §8
  | 'request_not_supported' // OpenID Connect Core §3.1.2.6
  | 'request_uri_not_supported' // OpenID Connect Core §3.1.2.6
  | 'invalid_request_uri' // OpenID Connect Core §3.1.2.6, RFC 9101 §7
  | 'access_denied' // RFC 6749 §4.1.2.1
  | 'login_required' // OpenID Connect Core §3.1.2.6
  | 'consent_required' // OpenID Connect Core §3.1.2.6
  | 'unknown_handover' // of Valetkey: the internal endpoints /selections/…
  | 'server_error' // RFC 6749 §4.1.2.1
  | 'temporarily_unavailable' // RFC 6749 §4.1.2.1; also for JSON responses with 429 and 503

/** The status of a JSON error. Only the HTTP edge overrides it (404, 405, 413, 429). */
export const OAUTH_ERROR_STATUS: Readonly<Record<OAuthErrorCode, number>> = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_response_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  invalid_request_uri: 400,
  access_denied: 400,
  login_required: 400,
  consent_required: 400,
  unknown_handover: 404,
  server_error: 500,
  temporarily_unavailable: 503
}

export type OAuthErrorDetails = {
  /** The exact reason: for the audit record only, never for the caller. */
  reason?: string
  /** The client and grant, if known: for the audit record only. */
  clientId?: string
  grantId?: string
  /** Id of the presented client secret, if it has the format of one. */
  secretId?: string
  /** The client used the Authorization header, so a 401 must name a scheme (RFC 6749 §5.2). */
  challenge?: 'Basic'
  /** Another server fails, and any person can cause such a request: neither an error in the log nor a 5xx in metrics. */
  isElsewhere?: boolean
  /** `Retry-After` of `temporarily_unavailable`. */
  retryAfterSeconds?: number
  cause?: unknown
}

/** An OAuth error. `description` is for the caller, `details` only for logs and audit records. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  readonly description: string
  readonly details: OAuthErrorDetails

  constructor(code: OAuthErrorCode, description: string, details: OAuthErrorDetails = {}) {
    super(description, { cause: details.cause })
    this.name = 'OAuthError'
    this.code = code
    this.description = description
    this.details = details
  }
}

/**
 * The description of every `invalid_grant` except for a used code. It does not say which check failed, because that would help
 * an attacker. The audit record has the reason, under the request id of the response.
 */
export const INVALID_GRANT = 'The code or token is unknown, expired, revoked, or was issued for another request.'

/** The fixed description for a used code; clients may rely on it. */
export const CODE_ALREADY_USED = 'authorization code was already used'

/** Replaces the characters that an error_description must not have (RFC 6749 §5.2). */
export function toErrorDescription(text: string): string {
  return text.replace(/["]/g, "'").replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
}
