import type { OAuthErrorCode } from '@valetkey/oauth-protocol'
import type { EXPLAINED_REASONS } from '../../http/send-error-page.js'

/** A code of the RFCs, or the reason of an error page: such an error is never sent to the client by a redirect. */
type ExplainedError = OAuthErrorCode | (typeof EXPLAINED_REASONS)[number]

/** The documentation of an error: keys of its texts, and the RFC sections that define it. */
export type ErrorEntry = {
  code: ExplainedError
  meaning: string
  causes: readonly string[]
  remedies: readonly string[]
  source: string
}

/** Number of causes and remedies of each code in the message files: `errors.<code>.cause.1` and so on. */
const ENTRIES: Readonly<Record<ExplainedError, { causes: number; remedies: number; source: string }>> = {
  invalid_request: { causes: 4, remedies: 2, source: 'RFC 6749 §4.1.2.1, §5.2; RFC 7636 §4.4.1' },
  invalid_client: { causes: 3, remedies: 2, source: 'RFC 6749 §5.2' },
  invalid_grant: { causes: 4, remedies: 4, source: 'RFC 6749 §5.2; RFC 7636 §4.6' },
  unauthorized_client: { causes: 1, remedies: 1, source: 'RFC 6749 §5.2' },
  unsupported_grant_type: { causes: 1, remedies: 1, source: 'RFC 6749 §5.2' },
  unsupported_response_type: { causes: 1, remedies: 1, source: 'RFC 6749 §4.1.2.1' },
  invalid_scope: { causes: 5, remedies: 2, source: 'RFC 6749 §3.3, §4.1.2.1, §5.2, §6' },
  invalid_target: { causes: 2, remedies: 1, source: 'RFC 8707 §2' },
  invalid_dpop_proof: { causes: 3, remedies: 1, source: 'RFC 9449 §4.3, §5' },
  use_dpop_nonce: { causes: 1, remedies: 1, source: 'RFC 9449 §8' },
  request_not_supported: { causes: 1, remedies: 1, source: 'OpenID Connect Core §3.1.2.6' },
  request_uri_not_supported: { causes: 1, remedies: 1, source: 'OpenID Connect Core §3.1.2.6' },
  invalid_request_uri: { causes: 4, remedies: 2, source: 'RFC 9126 §4; RFC 9101 §7' },
  access_denied: { causes: 1, remedies: 1, source: 'RFC 6749 §4.1.2.1' },
  login_required: { causes: 1, remedies: 1, source: 'OpenID Connect Core §3.1.2.6' },
  consent_required: { causes: 1, remedies: 1, source: 'OpenID Connect Core §3.1.2.6' },
  unknown_handover: { causes: 4, remedies: 1, source: 'RFC 9110 §15.5.5, for APIs only' },
  server_error: { causes: 1, remedies: 1, source: 'RFC 6749 §4.1.2.1' },
  temporarily_unavailable: { causes: 2, remedies: 1, source: 'RFC 6749 §4.1.2.1; RFC 6585 §4' },
  unknown_client: { causes: 3, remedies: 1, source: 'RFC 6749 §4.1.2.1' },
  redirect_uri_mismatch: { causes: 2, remedies: 2, source: 'RFC 6749 §3.1.2.4; RFC 9700 §2.1' },
  request_too_long: { causes: 1, remedies: 1, source: 'RFC 6749 §3.1' },
  client_not_allowed: { causes: 2, remedies: 1, source: 'RFC 6749 §4.1.2.1' },
  client_unreachable: { causes: 1, remedies: 1, source: 'RFC 6749 §4.1.2.1' },
  client_document_invalid: { causes: 1, remedies: 2, source: 'RFC 6749 §4.1.2.1; RFC 7591 §2' }
}

export const ERROR_CATALOGUE: readonly ErrorEntry[] = Object.entries(ENTRIES).map(([code, entry]) => ({
  code: code as ExplainedError,
  meaning: `errors.${code}.meaning`,
  causes: numbered(`errors.${code}.cause`, entry.causes),
  remedies: numbered(`errors.${code}.remedy`, entry.remedies),
  source: entry.source
}))

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}.${index + 1}`)
}
