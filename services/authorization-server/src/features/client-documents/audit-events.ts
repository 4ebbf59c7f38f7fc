import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const DOCUMENT_EVENTS = {
  client_discovered: 'change',
  client_document_changed: 'change'
} as const satisfies AuditEventKinds

type DocumentEvents = typeof DOCUMENT_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends DocumentEvents {}
}
