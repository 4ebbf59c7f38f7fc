import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const TOKEN_IMPORT_EVENTS = {
  tokens_imported: 'change',
  consents_imported: 'change'
} as const satisfies AuditEventKinds

type TokenImportEvents = typeof TOKEN_IMPORT_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends TokenImportEvents {}
}
