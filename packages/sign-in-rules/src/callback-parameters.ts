import { failureOfErrorCode, type ProviderFailure, providerFailure } from './provider-failure.js'

export type CallbackOutcome = { kind: 'code' } | { kind: 'failed'; failure: ProviderFailure }

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
  if (SINGLE.some((name) => parameters.getAll(name).length > 1)) {
    return { kind: 'failed', failure: providerFailure('misconfigured', 'repeated_parameter') }
  }
  // Before error and code: a response of another provider decides nothing here (RFC 9207 §2.4).
  const iss = parameters.get('iss')
  if (iss === null ? announcesIss : iss !== issuer) {
    return { kind: 'failed', failure: providerFailure('misconfigured', iss === null ? 'missing_iss' : 'wrong_iss') }
  }
  const error = parameters.get('error')
  if (error !== null) return { kind: 'failed', failure: failureOfErrorCode(error) }
  const hasCode = (parameters.get('code') ?? '') !== ''
  return hasCode ? { kind: 'code' } : { kind: 'failed', failure: providerFailure('misconfigured', 'no_code') }
}
