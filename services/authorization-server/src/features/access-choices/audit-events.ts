import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const ACCESS_CHOICE_EVENTS = {
  access_shortened: 'decision'
} as const satisfies AuditEventKinds

type AccessChoiceEvents = typeof ACCESS_CHOICE_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends AccessChoiceEvents {}
}
