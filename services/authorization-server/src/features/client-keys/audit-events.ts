import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const CLIENT_KEY_EVENTS = {
  client_key_added: 'change',
  client_key_removed: 'change',
  app_authentication_changed: 'change'
} as const satisfies AuditEventKinds

type ClientKeyEvents = typeof CLIENT_KEY_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends ClientKeyEvents {}
}
