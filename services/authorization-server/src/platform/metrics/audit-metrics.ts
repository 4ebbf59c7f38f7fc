import type { Metrics } from '@valetkey/service-kit'
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
  ...['unknown_user', 'wrong_password', 'disabled_user', 'too_many_attempts', 'too_many_at_once'],
  ...['unknown_passkey', 'invalid_passkey', 'cloned_passkey'],
  // With a provider or a login page.
  ...['not_linked', 'claim_refused', 'not_confirmed', 'access_denied', 'timeout', 'unreachable', 'http_5xx']
]

/** Counts the events on their way to the audit trail: every security decision is exactly one event. */
export function countDecisions(metrics: Metrics, trail: AuditTrail): AuditTrail {
  const counts = new Map<AuditEventName, number>(FROM_THE_START.map((event) => [event, 0]))
  let leavers = 0
  declareCounts(metrics, counts, () => leavers)
  declareTrail(metrics, trail)
  const signIns = metrics.counter(
    { name: 'valetkey_sign_ins_total', help: 'Sign-ins, by outcome.' },
    { outcome: ['succeeded', ...SIGN_IN_REFUSALS] }
  )
  const countRefusal = countRefusedDecisions(metrics)

  return {
    record(request, event) {
      counts.set(event.event, (counts.get(event.event) ?? 0) + 1)
      if (event.event === 'grant_ended' && event.reason === 'sign_in_too_old') leavers += 1
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

/** @param leavers grants that ended because their users had not signed in for too long */
function declareCounts(metrics: Metrics, counts: ReadonlyMap<AuditEventName, number>, leavers: () => number): void {
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
      { labels: { of: 'grant', cause: 'asked' }, value: count('grant_ended') - leavers() },
      { labels: { of: 'grant', cause: 'sign_in_too_old' }, value: leavers() },
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
