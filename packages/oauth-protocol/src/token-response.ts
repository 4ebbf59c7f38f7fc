/** A successful response of the token endpoint (RFC 6749 §5.1). */
export type TokenResponse = {
  access_token: string
  token_type: 'Bearer'
  /** Seconds. */
  expires_in: number
  scope: string
  refresh_token?: string
}
