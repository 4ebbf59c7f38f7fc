import { OAUTH_ERROR_STATUS } from '@valetkey/oauth-protocol'

/**
 * The reason that the developer of an app sees, for each reason of an audit event. Some reasons are shown as one:
 * - A code or refresh token of another client is shown as unknown: a client learns nothing about values that it may have stolen.
 * - Expired and ended access is shown as one: the request id would lead to the user who ended the access or was disabled.
 */
const SHOWN_AS = {
  // /oauth/authorize
  redirect_uri_mismatch: 'redirect_uri_mismatch',
  invalid_request_uri: 'invalid_request_uri',
  request_not_supported: 'request_not_supported',
  request_uri_not_supported: 'request_uri_not_supported',
  unsupported_response_type: 'unsupported_response_type',
  login_required: 'login_required',
  consent_required: 'consent_required',
  app_not_published: 'app_not_published',
  request_too_long: 'request_too_long',
  no_cookie: 'no_cookie',
  client_not_allowed: 'client_not_allowed',
  client_unreachable: 'client_unreachable',
  client_document_invalid: 'client_document_invalid',
  client_too_many: 'client_too_many',
  // Refusals of unknown clients have no row, so the client exists.
  unknown_client: 'client_disabled',
  // both
  invalid_request: 'invalid_request',
  invalid_scope: 'invalid_scope',
  refresh_token_wider_scope: 'invalid_scope',
  refresh_token_other_scope_in_retry_window: 'invalid_scope',
  invalid_target: 'invalid_target',
  refresh_token_resource: 'invalid_target',
  // /oauth/par
  too_many_pushed_requests: 'too_many_pushed_requests',
  // client assertions
  assertion_malformed: 'assertion_malformed',
  assertion_algorithm: 'assertion_algorithm',
  assertion_critical_header: 'assertion_header',
  assertion_typ: 'assertion_header',
  assertion_issuer: 'assertion_client',
  assertion_subject: 'assertion_client',
  assertion_other_client: 'assertion_client',
  assertion_audience: 'assertion_audience',
  assertion_expired: 'assertion_expired',
  assertion_lives_too_long: 'assertion_lives_too_long',
  assertion_not_yet_valid: 'assertion_not_yet_valid',
  assertion_jti: 'assertion_jti',
  assertion_unknown_key: 'assertion_unknown_key',
  assertion_signature: 'assertion_signature',
  assertion_used: 'assertion_used',
  refresh_token_grant_requires_key: 'wrong_authentication_method',
  // /token, /oauth/revoke
  wrong_secret: 'wrong_secret',
  wrong_authentication_method: 'wrong_authentication_method',
  too_many_attempts: 'too_many_attempts',
  too_many_refreshes: 'too_many_refreshes',
  unauthorized_client: 'unauthorized_client',
  unsupported_grant_type: 'unsupported_grant_type',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'body_not_a_form',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  CONTENT_CODING: 'body_compressed',
  malformed_code: 'code_unknown',
  unknown_code: 'code_unknown',
  wrong_client: 'code_unknown',
  expired_code: 'code_expired',
  access_ended: 'code_expired',
  // The response says so too.
  code_used: 'code_used',
  code_used_and_wrong_client: 'code_used',
  code_used_and_wrong_redirect_uri: 'code_used',
  code_used_and_wrong_code_challenge: 'code_used',
  code_used_and_wrong_resource: 'code_used',
  code_used_and_wrong_dpop_jkt: 'code_used',
  wrong_redirect_uri: 'code_redirect_uri',
  wrong_code_challenge: 'code_verifier',
  malformed_verifier: 'code_verifier',
  wrong_dpop_jkt: 'invalid_dpop_proof',
  invalid_dpop_proof: 'invalid_dpop_proof',
  refresh_token_without_proof: 'invalid_dpop_proof',
  refresh_token_wrong_key: 'invalid_dpop_proof',
  refresh_token_malformed: 'refresh_token_unknown',
  refresh_token_unknown: 'refresh_token_unknown',
  refresh_token_wrong_client: 'refresh_token_unknown',
  refresh_token_expired: 'refresh_token_expired',
  refresh_token_grant_ended: 'refresh_token_expired',
  refresh_token_sign_in_too_old: 'refresh_token_expired',
  refresh_token_no_scope_left: 'refresh_token_expired',
  refresh_token_reused: 'refresh_token_reused',
  // /tokens/leaked
  token_reported: 'token_reported'
} as const

const REASONS: ReadonlyMap<string, string> = new Map(Object.entries(SHOWN_AS))

/** The text for reasons that are not in the list. */
const OTHER = 'other'

/** Every reason that a developer sees. */
export const SHOWN_REASONS: readonly string[] = [...new Set([...Object.values(SHOWN_AS), OTHER])]

/** @param reason of the audit event */
export function shownReason(reason: string): string {
  return REASONS.get(reason) ?? OTHER
}

/** Keys of the texts that explain a reason and how to fix the request. A reason that is an error code has those of its page. */
export function textsOfReason(reason: string): { what: string; remedy: string } {
  return reason in OAUTH_ERROR_STATUS
    ? { what: `errors.${reason}.meaning`, remedy: `errors.${reason}.remedy.1` }
    : { what: `refusals.${reason}.what`, remedy: `refusals.${reason}.remedy` }
}
