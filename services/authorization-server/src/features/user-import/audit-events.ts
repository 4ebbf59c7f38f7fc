import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const IMPORT_EVENTS = {
  users_imported: 'change'
} as const satisfies AuditEventKinds

type ImportEvents = typeof IMPORT_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends ImportEvents {}
}
