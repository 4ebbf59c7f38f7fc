import { ASSERTION_REFUSALS } from '@valetkey/oauth-protocol/signed'
import { REFUSAL_REASONS } from '../clients/document-refusal.js'
import { WAYS_BACK } from './ways-back.js'

const MISMATCHES = ['client', 'redirect_uri', 'code_challenge', 'resource', 'dpop_jkt']

const OF_REFRESH_TOKENS = [
  'malformed',
  'unknown',
  'expired',
  'reused',
  'grant_ended',
  'grant_requires_key',
  'sign_in_too_old',
  'no_scope_left',
  'wrong_client',
  'wider_scope',
  'lost_scope',
  'resource',
  'without_proof',
  'wrong_key'
]

/** Reasons of the audit events of `/token`. */
export const TOKEN_REFUSALS = [
  'unknown_client',
  'wrong_secret',
  'wrong_authentication_method',
  'too_many_attempts',
  'unauthorized_client',
  'too_many_refreshes',
  'too_many_pushed_requests',
  'no_credentials',
  'other_scheme',
  'bad_basic',
  ...ASSERTION_REFUSALS,
  'invalid_request',
  'invalid_target',
  'invalid_dpop_proof',
  'unsupported_grant_type',
  'malformed_code',
  'malformed_verifier',
  'unknown_code',
  'expired_code',
  'code_used',
  'access_ended',
  'client_disconnected',
  ...MISMATCHES.flatMap((mismatch) => [`wrong_${mismatch}`, `code_used_and_wrong_${mismatch}`]),
  ...[...OF_REFRESH_TOKENS, 'other_scope_in_retry_window'].map((reason) => `refresh_token_${reason}`)
]

/** The refusal events of the core, each with its reasons. */
export const CORE_REFUSALS = {
  request_refused: {
    refusal: [
      ...TOKEN_REFUSALS,
      'invalid_scope',
      'unsupported_response_type',
      'request_not_supported',
      'wrong_resource_server_credentials',
      'FST_ERR_CTP_INVALID_MEDIA_TYPE',
      'FST_ERR_CTP_BODY_TOO_LARGE',
      'CONTENT_CODING'
    ]
  },
  authorization_refused: {
    refusal: [
      'unknown_client',
      'redirect_uri_mismatch',
      'request_too_long',
      'invalid_request_uri',
      'request_not_supported',
      'request_uri_not_supported',
      'no_cookie',
      'invalid_request',
      'app_not_published',
      'too_many_new_clients',
      'access_ended',
      'unsupported_response_type',
      'invalid_scope',
      'invalid_target',
      ...REFUSAL_REASONS
    ]
  },
  form_refused: { refusal: ['foreign_form', 'too_many_changes'] },
  step_refused: { refusal: WAYS_BACK },
  sign_in_failed: {
    refusal: [
      'unknown_user',
      'wrong_password',
      'disabled_user',
      'too_many_attempts',
      'not_linked',
      'not_confirmed',
      ...['other_browser', 'unknown', 'stopped', 'misconfigured'].map((reason) => `handoff_${reason}`),
      'handoff_wrong_signature',
      'handoff_assertion_reused',
      'handoff_expired_request',
      'handoff_expired_assertion',
      ...['unknown', 'other_browser', 'used', 'expired'].map((reason) => `${reason}_state`)
    ]
  },
  password_change_refused: { refusal: ['wrong_password', 'too_many_attempts', 'too_many_at_once'] },
  operator_refused: {
    refusal: [
      'key_in_query',
      'doubled_header',
      'malformed',
      'never_issued',
      'unknown_operator_key',
      'revoked_operator_key',
      'other_purpose'
    ]
  }
}
