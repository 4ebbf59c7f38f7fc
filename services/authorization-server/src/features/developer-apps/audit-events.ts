import type { AuditEventKinds } from '../../platform/audit/audit-event.js'

/** The audit events of this feature. */
export const APP_EVENTS = {
  app_registered: 'change',
  app_changed: 'change',
  app_change_withdrawn: 'change',
  app_approval_requested: 'change',
  app_approval_withdrawn: 'change',
  app_published: 'change',
  app_approved: 'change',
  app_refused: 'change',
  app_disabled: 'change',
  app_deleted: 'change',
  app_owner_invited: 'change',
  app_invitation_withdrawn: 'change',
  app_invitation_declined: 'change',
  app_owner_added: 'change',
  app_owner_removed: 'change',
  app_tester_added: 'change',
  app_tester_removed: 'change',
  client_owners_changed: 'change'
} as const satisfies AuditEventKinds

type AppEvents = typeof APP_EVENTS

declare module '../../platform/audit/audit-event.js' {
  interface AuditEvents extends AppEvents {}
}
