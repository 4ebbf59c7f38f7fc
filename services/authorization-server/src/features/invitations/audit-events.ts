import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const ACCOUNT_LINK_EVENTS = {
  account_link_used: 'decision',
  account_link_refused: { refusal: ['unknown_link', 'local_sign_in_off', 'too_many_attempts', 'too_many_at_once'] },
  user_invited: 'change',
  user_reset_link_created: 'change'
} as const satisfies AuditEventKinds

type AccountLinkEvents = typeof ACCOUNT_LINK_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends AccountLinkEvents {}
}
