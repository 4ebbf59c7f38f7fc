import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const IDENTITY_EVENTS = {
  signed_out_by_provider: 'decision',
  identity_refused: { refusal: ['linked_elsewhere', 'link_over', 'not_confirmed'] },
  identity_linked: 'change',
  identity_unlinked: 'change',
  identities_rebound: 'change'
} as const satisfies AuditEventKinds

type IdentityEvents = typeof IDENTITY_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends IdentityEvents {}
}
