import { CORE_REFUSALS } from './core-refusals.js'

/** The kind of an event. It decides whether the rows of the event are limited (`audit-budget.ts`). */
export type AuditEventKind =
  /** Needs a valid code, token, session or form and uses it up or changes it: always one row. */
  | 'decision'
  /** A party with a session, or with a valid code, token or form, can repeat it without limit. */
  | 'repetition'
  /** Anonymous requests can also cause it. The reasons are labels of `valetkey_refusals_total`; others count as `other`. */
  | { readonly refusal: readonly string[] }
  /** A change by an operator, or of identities and apps by a user. Its statement also writes its audit entry (`storage/postgres/audited.ts`). */
  | 'change'

export type AuditEventKinds = Readonly<Record<string, AuditEventKind>>

/** Security decisions of the core, one event each. The names are stable, because alerts and reports use them. */
export const CORE_EVENTS = {
  sign_in_succeeded: 'decision',
  signed_out: 'decision',
  signed_out_everywhere: 'decision',
  password_changed: 'decision',
  session_ended: 'decision',
  other_sessions_ended: 'decision',
  consent_given: 'decision',
  consent_denied: 'decision',
  code_redeemed: 'decision',
  token_refreshed: 'decision',
  token_revoked: 'decision',
  grant_ended: 'decision',
  code_issued: 'repetition',
  consent_decision_repeated: 'repetition',
  code_reused: 'repetition',
  refresh_response_repeated: 'repetition',
  refresh_token_reused: 'repetition',
  ...CORE_REFUSALS,
  operator_key_created: 'change',
  operator_key_revoked: 'change',
  user_created: 'change',
  user_disabled: 'change',
  user_enabled: 'change',
  user_password_set: 'change',
  user_deleted: 'change',
  grant_revoked: 'change',
  grants_revoked: 'change',
  client_created: 'change',
  client_updated: 'change',
  client_disabled: 'change',
  client_enabled: 'change',
  client_deleted: 'change',
  client_secret_rotated: 'change',
  client_secret_deleted: 'change',
  scope_created: 'change',
  scope_updated: 'change',
  scope_deleted: 'change',
  resource_server_created: 'change',
  resource_server_updated: 'change',
  resource_server_deleted: 'change'
} as const satisfies AuditEventKinds

type CoreEvents = typeof CORE_EVENTS

/** The kinds of all events. Features add theirs, by declaration merging. */
export interface AuditEvents extends CoreEvents {}

type EventName<Kind> = { [Name in keyof AuditEvents]: AuditEvents[Name] extends Kind ? Name : never }[keyof AuditEvents]

/** Events whose statement also writes their audit entry. */
export type AdministrationEventName = EventName<'change'>

/** Events that `record` of the audit trail writes. */
export type AuditEventName = Exclude<keyof AuditEvents, AdministrationEventName>

/** Features, of which some have audit events. */
export type WithAuditEvents = readonly { auditEvents?: AuditEventKinds }[]

/** @returns the kinds of the core's events and of those that these features add */
export function auditEventsOf(features: WithAuditEvents): AuditEventKinds {
  return Object.assign({}, CORE_EVENTS, ...features.map(({ auditEvents }) => auditEvents))
}

export type AuditEvent = {
  event: AuditEventName
  clientId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  reason?: string | undefined
  scope?: readonly string[] | undefined
  /** When the access ends that the event gives or changes. */
  endsAt?: Date | undefined
  /** What the user chose at an API. */
  chosen?: readonly { type: string; identifier: string }[] | undefined
  /** The id of the presented client secret. */
  secretId?: string | undefined
}

/** The fields of a request that an event uses; a Fastify request has them. */
export type AuditedRequest = {
  id: string
  ip: string
  trustedTrace?: { readonly traceId: string } | undefined
  /** Id of the secret with which the client authenticated, if it did. */
  authenticatedSecretId?: string | undefined
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
}
