import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. `consent_given` has what was chosen. */
export const SELECTION_EVENTS = {
  selection_started: 'decision',
  // Until the hand-over expires, the API may finish it again.
  selection_changed: 'repetition'
} as const satisfies AuditEventKinds

type SelectionEvents = typeof SELECTION_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends SelectionEvents {}
}
