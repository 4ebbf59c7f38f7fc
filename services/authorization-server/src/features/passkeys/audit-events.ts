import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const PASSKEY_EVENTS = {
  passkey_added: 'decision',
  passkey_removed: 'decision',
  user_passkeys_removed: 'change'
} as const satisfies AuditEventKinds

type PasskeyEvents = typeof PASSKEY_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends PasskeyEvents {}
}
