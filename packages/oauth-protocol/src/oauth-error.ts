/** Every error code that leaves this service, with where it is defined. */
export type OAuthErrorCode =
  | 'invalid_request' // RFC 6749 §4.1.2.1, §5.2
  | 'invalid_client' // §5.2
  | 'invalid_grant' // §5.2
  | 'unauthorized_client' // §4.1.2.1, §5.2
  | 'unsupported_grant_type' // §5.2
  | 'unsupported_response_type' // §4.1.2.1
  | 'invalid_scope' // §4.1.2.1, §5.2
  | 'invalid_target' // RFC 8707 §2
  | 'access_denied' // RFC 6749 §4.1.2.1
  | 'login_required' // OpenID Connect Core §3.1.2.6
  | 'consent_required' // OpenID Connect Core §3.1.2.6
  | 'server_error' // RFC 6749 §4.1.2.1
  | 'temporarily_unavailable' // §4.1.2.1; here also for JSON answers with 429 and 503

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
  access_denied: 400,
  login_required: 400,
  consent_required: 400,
  server_error: 500,
  temporarily_unavailable: 503
}

export type OAuthErrorDetails = {
  /** Why, exactly: for the audit record only, never for the caller. */
  reason?: string
  /** Whom it concerns, as far as that is known: for the audit record as well. */
  clientId?: string
  grantId?: string
  /** Of the client secret that was shown, where it can be one of ours. */
  secretId?: string
  /** The client proved itself (or tried to) by the Authorization header, so a 401 must name a scheme (RFC 6749 §5.2). */
  challenge?: 'Basic'
  cause?: unknown
}

/** A refusal in the protocol's own words. `description` may be read by the caller, `details` only by the log. */
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
 * The one description of every `invalid_grant` but a used code: which check failed would tell a thief what to try next.
 * The exact reason is in the audit record, under the request id that the answer carries.
 */
export const INVALID_GRANT = 'The code or token is unknown, expired, revoked, or was issued for another request.'

/** The specification asks for this one by name (§7.1). */
export const CODE_ALREADY_USED = 'authorization code was already used'

/** Leaves only the characters that an error_description may hold (RFC 6749 §5.2). */
export function toErrorDescription(text: string): string {
  return text.replace(/["]/g, "'").replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
}
