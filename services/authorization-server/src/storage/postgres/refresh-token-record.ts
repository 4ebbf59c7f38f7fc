/** A refresh token with the fields of its grant. */
export type RefreshTokenRecord = {
  grantId: string
  clientId: string
  userId: string
  /** The scope of the grant; a narrower access token does not narrow the refresh token. */
  scope: readonly string[]
  /** What is left of it, by the registration as it is now. */
  remainingScope: readonly string[]
  audience: string
  /** Decided by Postgres's clock at the lookup. */
  expired: boolean
  refreshableUntil: Date
  /** When the access ends. Undefined: the user chose no end. */
  endsAt?: Date | undefined
  /** Seconds until the grant may be refreshed again, by Postgres's clock; 0: now. */
  waitSeconds: number
  /** The grant, its user, its client, or the user's authorization of the client has ended, or the end that the user chose has come. */
  ended: boolean
  /** The user has not signed in for longer than `SIGN_IN_AT_LEAST_EVERY`. */
  signInTooOld: boolean
  /** `retryResponse` only while the retry window is open. */
  rotation: { retryScope: string; retryResponse: Buffer | undefined } | undefined
  /** The thumbprint of the key that this refresh token is bound to. */
  jkt: string | undefined
  /** Whether the grant has given an access token that is bound to a key. */
  wasBound: boolean
  /** Only a request that proves the key of the client may use it (ADR 0031). */
  requiresKey?: boolean | undefined
}

export type RefreshTokenRow = {
  number: number
  grant_id: string
  client_id: string
  user_id: string
  scope: string[]
  remaining_scope: string[] | null
  audience: string
  expired: boolean
  refreshable_until: Date
  ends_at: Date | null
  wait_seconds: number
  ended: boolean
  sign_in_too_old: boolean
  rotated: boolean
  retry_scope: string | null
  retry_response: Buffer | null
  jkt: string | null
  was_bound: boolean
  requires_key: boolean | null
}

export function toRecord(row: RefreshTokenRow): RefreshTokenRecord {
  return {
    grantId: row.grant_id,
    clientId: row.client_id,
    userId: row.user_id,
    scope: row.scope,
    remainingScope: row.remaining_scope ?? [],
    audience: row.audience,
    expired: row.expired,
    refreshableUntil: row.refreshable_until,
    endsAt: row.ends_at ?? undefined,
    waitSeconds: row.wait_seconds,
    ended: row.ended,
    signInTooOld: row.sign_in_too_old,
    rotation: row.rotated
      ? { retryScope: row.retry_scope ?? '', retryResponse: row.retry_response ?? undefined }
      : undefined,
    jkt: row.jkt ?? undefined,
    wasBound: row.was_bound,
    requiresKey: row.requires_key ?? undefined
  }
}
