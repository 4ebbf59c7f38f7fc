import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const LEAVER_EVENTS = { user_access_ended: 'change' } as const satisfies AuditEventKinds

type LeaverEvents = typeof LEAVER_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends LeaverEvents {}
}
