import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const LEAKED_TOKEN_EVENTS = { token_reported: 'decision' } as const satisfies AuditEventKinds

type LeakedTokenEvents = typeof LEAKED_TOKEN_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends LeakedTokenEvents {}
}
