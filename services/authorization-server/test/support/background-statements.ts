// Batches of audit events and uses, housekeeping, new connections.
const BACKGROUND =
  /^(append_audit_events|note_\w+_use|erase_retry_responses|append_client_refusals|delete_surplus_client_refusals|delete_expired_\w+|\w+_access_token_buckets|set plan_cache_mode = \w+|begin; set local statement_timeout = \d+|commit)$/

/** Whether a statement, by its name or text, belongs to no request, so that it can come at any time. */
export function isBackground(statement: string): boolean {
  return BACKGROUND.test(statement)
}
