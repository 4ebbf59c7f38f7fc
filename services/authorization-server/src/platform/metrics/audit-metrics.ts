import type { Metrics } from '@valetkey/service-kit'
import type { AuditEventKinds } from '../audit/audit-event.js'
import type { AuditEventName, AuditTrail } from '../audit/audit-trail.js'
import { countRefusedDecisions } from './refusal-metrics.js'

/** Events of alerts start with 0, so that an alert sees the first occurrence. */
const FROM_THE_START = [
  ...(['code_issued', 'code_redeemed', 'code_reused', 'token_refreshed', 'refresh_response_repeated'] as const),
  ...(['refresh_token_reused', 'token_revoked', 'grant_ended', 'sign_in_succeeded', 'sign_in_failed'] as const),
  ...([
    'authorization_refused',
    'consent_given',
    'consent_denied',
    'form_refused',
    'request_refused',
    'operator_refused'
  ] as const)
] satisfies AuditEventName[]

const SIGN_IN_REFUSALS = [
  'unknown_user',
  'wrong_password',
  'disabled_user',
  'too_many_attempts',
  'too_many_at_once',
  'unknown_passkey',
  'invalid_passkey',
  'cloned_passkey',
  // This reason exists for providers and login pages.
  'not_linked',
  'claim_refused',
  'not_confirmed',
  'access_denied',
  'timeout',
  'unreachable',
  'http_5xx'
]

/** Why grants end although neither the user nor the app asked for it. */
const ENDING_CAUSES = ['sign_in_too_old', 'no_scope_left', 'too_many_grants']

/**
 * Counts the events on their way to the audit trail: every security decision is exactly one event.
 * @param kinds of all events
 */
export function countDecisions(metrics: Metrics, trail: AuditTrail, kinds: AuditEventKinds): AuditTrail {
  const counts = new Map<AuditEventName, number>(FROM_THE_START.map((event) => [event, 0]))
  const causes = new Map<string, number>(ENDING_CAUSES.map((cause) => [cause, 0]))
  declareCounts(metrics, counts, causes)
  declareTrail(metrics, trail)
  const signIns = metrics.counter(
    { name: 'valetkey_sign_ins_total', help: 'Sign-ins, by outcome.' },
    { outcome: ['succeeded', ...SIGN_IN_REFUSALS] }
  )
  const countRefusal = countRefusedDecisions(metrics, kinds)

  return {
    record(request, event) {
      counts.set(event.event, (counts.get(event.event) ?? 0) + 1)
      const cause = event.event === 'grant_ended' ? causes.get(event.reason ?? '') : undefined
      if (cause !== undefined) causes.set(event.reason ?? '', cause + 1)
      if (event.event === 'sign_in_succeeded') signIns.add('succeeded')
      if (event.event === 'sign_in_failed') signIns.add(event.reason ?? '')
      countRefusal(event)
      trail.record(request, event)
    },
    aggregated: trail.aggregated,
    lost: trail.lost,
    close: trail.close
  }
}

/** @param causes how many grants ended for each of `ENDING_CAUSES` */
function declareCounts(
  metrics: Metrics,
  counts: ReadonlyMap<AuditEventName, number>,
  causes: ReadonlyMap<string, number>
): void {
  const unasked = () => [...causes.values()].reduce((sum, count) => sum + count, 0)
  const count = (...events: AuditEventName[]) => events.reduce((sum, event) => sum + (counts.get(event) ?? 0), 0)

  metrics.countElsewhere(
    { name: 'valetkey_audit_events_total', help: 'Security decisions, as in the audit log.' },
    () => [...counts].map(([event, value]) => ({ labels: { event }, value }))
  )
  metrics.countElsewhere({ name: 'valetkey_codes_issued_total', help: 'Authorization codes issued.' }, () =>
    count('code_issued')
  )
  metrics.countElsewhere(
    { name: 'valetkey_codes_exchanged_total', help: 'Authorization codes exchanged for tokens.' },
    () => count('code_redeemed')
  )
  metrics.countElsewhere({ name: 'valetkey_access_tokens_issued_total', help: 'Access tokens, by grant type.' }, () => [
    { labels: { grant_type: 'authorization_code' }, value: count('code_redeemed') },
    { labels: { grant_type: 'refresh_token' }, value: count('token_refreshed') }
  ])
  metrics.countElsewhere(
    {
      name: 'valetkey_revocations_total',
      help: 'Access tokens and grants that this process ended.'
    },
    () => [
      { labels: { of: 'access_token', cause: 'asked' }, value: count('token_revoked') },
      { labels: { of: 'grant', cause: 'asked' }, value: count('grant_ended') - unasked() },
      ...[...causes].map(([cause, value]) => ({ labels: { of: 'grant', cause }, value })),
      { labels: { of: 'grant', cause: 'reuse' }, value: count('code_reused', 'refresh_token_reused') }
    ]
  )
}

function declareTrail(metrics: Metrics, trail: AuditTrail): void {
  metrics.countElsewhere(
    {
      name: 'valetkey_audit_events_lost_total',
      help: 'Audit events that are in the log and will never be in the table.'
    },
    trail.lost
  )
  metrics.countElsewhere(
    {
      name: 'valetkey_audit_events_counted_total',
      help: 'Audit events that the table contains only as part of a count.'
    },
    trail.aggregated
  )
}
