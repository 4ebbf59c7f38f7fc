/** Security decisions, one event each. The names are stable, because alerts and reports use them. */
export type AuditEventName =
  | 'sign_in_succeeded'
  | 'sign_in_failed'
  | 'signed_out'
  | 'signed_out_everywhere'
  | 'account_link_used'
  | 'account_link_refused'
  | 'password_changed'
  | 'password_change_refused'
  | 'session_ended'
  | 'other_sessions_ended'
  | 'passkey_added'
  | 'passkey_removed'
  | 'identity_refused'
  | 'signed_out_by_provider'
  | 'authorization_refused'
  | 'form_refused'
  | 'step_refused'
  | 'consent_given'
  | 'consent_denied'
  | 'consent_decision_repeated'
  | 'code_issued'
  | 'code_redeemed'
  | 'code_reused'
  | 'token_refreshed'
  | 'refresh_response_repeated'
  | 'refresh_token_reused'
  | 'token_revoked'
  | 'grant_ended'
  | 'request_refused'
  | 'operator_refused'

/** Changes by operators, and those of identities and apps by users. The statement of the change also writes its audit entry (`storage/postgres/audited.ts`). */
export type AdministrationEventName =
  | 'operator_key_created'
  | 'operator_key_revoked'
  | 'user_created'
  | 'user_disabled'
  | 'user_enabled'
  | 'user_password_set'
  | 'user_passkeys_removed'
  | 'user_deleted'
  | 'identity_linked'
  | 'identity_unlinked'
  | 'identities_rebound'
  | 'user_invited'
  | 'user_reset_link_created'
  | 'users_imported'
  | 'grant_revoked'
  | 'grants_revoked'
  | 'client_created'
  | 'client_updated'
  | 'client_disabled'
  | 'client_enabled'
  | 'client_deleted'
  | 'client_discovered'
  | 'client_document_changed'
  | 'client_secret_rotated'
  | 'client_secret_deleted'
  | 'scope_created'
  | 'scope_updated'
  | 'scope_deleted'
  | 'resource_server_created'
  | 'resource_server_updated'
  | 'resource_server_deleted'
  | 'app_registered'
  | 'app_changed'
  | 'app_change_withdrawn'
  | 'app_approval_requested'
  | 'app_approval_withdrawn'
  | 'app_published'
  | 'app_approved'
  | 'app_refused'
  | 'app_disabled'
  | 'app_deleted'
  | 'app_owner_invited'
  | 'app_invitation_withdrawn'
  | 'app_invitation_declined'
  | 'app_owner_added'
  | 'app_owner_removed'
  | 'app_tester_added'
  | 'app_tester_removed'

export type AuditEvent = {
  event: AuditEventName
  clientId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  reason?: string | undefined
  scope?: readonly string[] | undefined
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
