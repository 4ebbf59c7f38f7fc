import { failureOfBrowser, failureOfErrorCode, type ProviderFailure, providerFailure } from './provider-failure.js'

export type CallbackOutcome = { kind: 'code' } | { kind: 'failed'; failure: ProviderFailure }

/** RFC 6749 appendix A.11. A provider could respond to other characters with a failure. */
const CODE = /^[\x20-\x7e]+$/
const SINGLE = ['state', 'iss', 'error', 'code']

/**
 * Evaluates the parameters of an authorization response whose state belongs to a sign-in of this browser.
 * @param issuer of the provider that the browser was sent to
 * @param announcesIss `authorization_response_iss_parameter_supported` of its metadata
 */
export function evaluateCallback(
  parameters: URLSearchParams,
  { issuer, announcesIss }: { issuer: string; announcesIss: boolean }
): CallbackOutcome {
  const failed = (failure: ProviderFailure) => ({ kind: 'failed', failure: failureOfBrowser(failure) }) as const
  if (SINGLE.some((name) => parameters.getAll(name).length > 1)) {
    return failed(providerFailure('misconfigured', 'repeated_parameter'))
  }
  // The issuer is checked before error and code: a response of another provider decides nothing here (RFC 9207 §2.4).
  const iss = parameters.get('iss')
  if (iss === null ? announcesIss : iss !== issuer) {
    return failed(providerFailure('misconfigured', iss === null ? 'missing_iss' : 'wrong_iss'))
  }
  const error = parameters.get('error')
  if (error !== null) return failed(failureOfErrorCode(error))
  const code = parameters.get('code') ?? ''
  if (code === '') return failed(providerFailure('misconfigured', 'no_code'))
  return CODE.test(code) ? { kind: 'code' } : failed(providerFailure('unknown', 'malformed_code'))
}
