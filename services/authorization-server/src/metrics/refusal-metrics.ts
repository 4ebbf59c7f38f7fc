import type { Counter, Metrics } from '@valetkey/service-kit'
import type { FastifyRequest } from 'fastify'
import { formOf } from '../http/form.js'

/** Hears of each request that is answered with an error. */
export type OnRefusal = (request: FastifyRequest, status: number, reason: string) => void

const GRANT_TYPES = ['authorization_code', 'refresh_token']

const MISMATCHES = ['client', 'redirect_uri', 'code_challenge', 'resource']

const OF_REFRESH_TOKENS = [
  'malformed',
  'unknown',
  'expired',
  'reused',
  'grant_ended',
  'wrong_client',
  'wider_scope',
  'resource'
]

/** As they stand in the audit records; what is not listed counts as `other`. */
const REASONS = [
  ...['unknown_client', 'wrong_secret', 'wrong_authentication_method', 'too_many_attempts', 'unauthorized_client'],
  ...['no_credentials', 'other_scheme', 'bad_basic', 'invalid_request', 'invalid_target', 'unsupported_grant_type'],
  ...['malformed_code', 'malformed_verifier', 'unknown_code', 'expired_code', 'code_used'],
  ...MISMATCHES.flatMap((mismatch) => [`wrong_${mismatch}`, `code_used_and_wrong_${mismatch}`]),
  ...[...OF_REFRESH_TOKENS, 'other_scope_in_retry_window'].map((reason) => `refresh_token_${reason}`)
]

/** Requests at `/token` that were refused, and introspections that found nobody who may ask, or no store to look in. */
export function countRefusals(metrics: Metrics, introspections: Counter): OnRefusal {
  const atToken = metrics.counter(
    { name: 'valetkey_token_requests_refused_total', help: 'Requests at /token that were refused, by exact cause.' },
    { grant_type: GRANT_TYPES, reason: REASONS }
  )

  return (request, status, reason) => {
    const route = request.routeOptions.url ?? ''
    if (/\/introspect(ions)?$/.test(route)) introspections.add(status >= 500 ? 'unavailable' : 'refused')
    // A 5xx is no refusal; the requests' own metric has it.
    else if (route.endsWith('/token') && status < 500) atToken.add(formOf(request).get('grant_type') ?? '', reason)
  }
}
