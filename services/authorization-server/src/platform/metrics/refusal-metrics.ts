import type { Counter, Metrics } from '@valetkey/service-kit'
import type { FastifyRequest } from 'fastify'
import type { AuditEvent, AuditEventName } from '../audit/audit-event.js'
import { WAYS_BACK } from '../audit/ways-back.js'
import { REFUSAL_REASONS } from '../clients/document-refusal.js'
import { formOf } from '../request-parts.js'

/** Is called for each request that gets an error response. */
export type OnRefusal = (request: FastifyRequest, refusal: { status: number; reason: string }) => void

const GRANT_TYPES = ['authorization_code', 'refresh_token']

const MISMATCHES = ['client', 'redirect_uri', 'code_challenge', 'resource']

const OF_REFRESH_TOKENS = [
  'malformed',
  'unknown',
  'expired',
  'reused',
  'grant_ended',
  'sign_in_too_old',
  'no_scope_left',
  'wrong_client',
  'wider_scope',
  'lost_scope',
  'resource'
]

/** Reasons of the audit events of `/token`; others count as `other`. */
const REASONS = [
  'unknown_client',
  'wrong_secret',
  'wrong_authentication_method',
  'too_many_attempts',
  'unauthorized_client',
  'too_many_refreshes',
  'no_credentials',
  'other_scheme',
  'bad_basic',
  'invalid_request',
  'invalid_target',
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

/** By this type, a new event of a refusal without reasons does not compile. */
type Refusal = Extract<AuditEventName, 'sign_in_failed' | `${string}_refused`>

/** The reasons of each refusal event; others count as `other`. */
const REASONS_OF: Readonly<Record<Refusal, readonly string[]>> = {
  request_refused: [
    ...REASONS,
    'invalid_scope',
    'wrong_resource_server_credentials',
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    'FST_ERR_CTP_BODY_TOO_LARGE',
    'CONTENT_CODING'
  ],
  authorization_refused: [
    'unknown_client',
    'redirect_uri_mismatch',
    'request_too_long',
    'no_cookie',
    'invalid_request',
    'app_not_published',
    'too_many_new_clients',
    'access_ended',
    'unsupported_response_type',
    'invalid_scope',
    'invalid_target',
    ...REFUSAL_REASONS
  ],
  form_refused: ['foreign_form', 'too_many_changes'],
  step_refused: WAYS_BACK,
  sign_in_failed: [
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
  ],
  identity_refused: ['linked_elsewhere', 'link_over', 'not_confirmed'],
  account_link_refused: ['unknown_link', 'local_sign_in_off', 'too_many_attempts', 'too_many_at_once'],
  password_change_refused: ['wrong_password', 'too_many_attempts', 'too_many_at_once'],
  operator_refused: [
    'key_in_query',
    'doubled_header',
    'malformed',
    'never_issued',
    'unknown_operator_key',
    'revoked_operator_key'
  ]
}

/** Counts every logged refusal, also those without a row of their own in the audit table. */
export function countRefusedDecisions(metrics: Metrics): (event: AuditEvent) => void {
  const counts = new Map<string, Map<string, number>>(
    Object.entries(REASONS_OF).map(([event, reasons]) => [event, new Map(reasons.map((reason) => [reason, 0]))])
  )
  metrics.countElsewhere(
    { name: 'valetkey_refusals_total', help: 'Refusals, as in the audit log, by event and exact cause.' },
    () =>
      [...counts].flatMap(([event, values]) =>
        [...values].map(([reason, value]) => ({ labels: { event, reason }, value }))
      )
  )
  return ({ event, reason = '' }) => {
    const ofEvent = counts.get(event)
    if (ofEvent === undefined) return
    const label = ofEvent.has(reason) ? reason : 'other'
    ofEvent.set(label, (ofEvent.get(label) ?? 0) + 1)
  }
}

/** Counts refused requests at `/token`, and introspection requests that were refused or found a store unavailable. */
export function countRefusals(metrics: Metrics, introspections: Counter): OnRefusal {
  const atToken = metrics.counter(
    { name: 'valetkey_token_requests_refused_total', help: 'Refused requests at /token, by exact cause.' },
    { grant_type: GRANT_TYPES, reason: REASONS }
  )

  return (request, { status, reason }) => {
    const route = request.routeOptions.url ?? ''
    if (/\/introspect(ions)?$/.test(route)) introspections.add(status >= 500 ? 'unavailable' : 'refused')
    // A 5xx is not a refusal; the HTTP metrics count it.
    else if (route.endsWith('/token') && status < 500) atToken.add(formOf(request).get('grant_type') ?? '', reason)
  }
}
