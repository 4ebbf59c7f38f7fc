/** Pages of a sign-in that a provider did not complete. */
export type ProviderFailurePage =
  /** The user stopped at the provider. */
  | 'stopped'
  /** The provider does not respond. */
  | 'unavailable'
  /** The operator must change something, here or at the provider. */
  | 'misconfigured'
  /** The user must start again. */
  | 'unknown'
  /** The provider did not confirm that the user has just signed in. */
  | 'not_confirmed'

export type ProviderFailure = {
  page: ProviderFailurePage
  status: number
  level: 'info' | 'warn' | 'error'
  /** The reason for the log, from a fixed list: an error code in an address may be an attacker's text. */
  reason: string
}

const PAGES = {
  stopped: { page: 'stopped', status: 403, level: 'info' },
  unavailable: { page: 'unavailable', status: 503, level: 'warn' },
  misconfigured: { page: 'misconfigured', status: 500, level: 'error' },
  unknown: { page: 'unknown', status: 400, level: 'info' },
  not_confirmed: { page: 'not_confirmed', status: 403, level: 'info' }
} as const satisfies Record<ProviderFailurePage, Omit<ProviderFailure, 'reason'>>

/** Error codes of the authorization and the token response (RFC 6749 §4.1.2.1, §5.2, OpenID Connect Core 1.0 §3.1.2.6). */
const ERROR_PAGES: ReadonlyMap<string, ProviderFailurePage> = new Map([
  ['access_denied', 'stopped'],
  ['login_required', 'stopped'],
  ['interaction_required', 'stopped'],
  ['consent_required', 'stopped'],
  ['account_selection_required', 'stopped'],
  ['temporarily_unavailable', 'unavailable'],
  ['server_error', 'unavailable'],
  // The code was used or has expired, for example because the page of the callback was reloaded.
  ['invalid_grant', 'unknown'],
  ['invalid_request', 'misconfigured'],
  ['unauthorized_client', 'misconfigured'],
  ['unsupported_response_type', 'misconfigured'],
  ['invalid_scope', 'misconfigured'],
  ['invalid_client', 'misconfigured']
])

/** What the user sees, and what the log says, for an error code of a provider. */
export function failureOfErrorCode(error: string): ProviderFailure {
  const page = ERROR_PAGES.get(error)
  return page === undefined ? providerFailure('misconfigured', 'unknown_error') : providerFailure(page, error)
}

/**
 * Reasons that a person can cause by what they send to the callback: an invented code, that of another sign-in, or of a request
 * to the provider that they changed (without `nonce` or `openid`); or by a large profile there.
 */
const OF_BROWSERS: readonly string[] = [
  'invalid_request',
  'invalid_scope',
  'unknown_error',
  'http_4xx',
  'unexpected_response',
  'response_too_large'
]

/**
 * The failure of a sign-in whose callback a browser sent. Any person can send any parameters, and must not be able to cause a
 * 5xx, which alerts count, or an error in the log.
 */
export function failureAfterCallback(failure: ProviderFailure): ProviderFailure {
  if (failure.reason === 'wrong_nonce') return providerFailure('unknown', failure.reason)
  return OF_BROWSERS.includes(failure.reason) ? failureOfBrowser(failure) : failure
}

/** The same for a failure that the parameters of the callback alone decide. */
export function failureOfBrowser(failure: ProviderFailure): ProviderFailure {
  const { status, level } = failure
  return { ...failure, status: status >= 500 ? 400 : status, level: level === 'error' ? 'warn' : level }
}

/** @param reason from a fixed list, never text of a response */
export function providerFailure(page: ProviderFailurePage, reason: string): ProviderFailure {
  return { ...PAGES[page], reason }
}
