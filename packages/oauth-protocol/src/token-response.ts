/** A successful response of the token endpoint (RFC 6749 §5.1). */
export type TokenResponse = {
  access_token: string
  /** `DPoP`: the access token is bound to a key (RFC 9449 §5). */
  token_type: 'Bearer' | 'DPoP'
  /** Seconds. */
  expires_in: number
  scope: string
  refresh_token?: string
  /** Seconds until the access ends, unless it ends earlier (draft-ietf-oauth-refresh-token-expiration). */
  authorization_expires_in?: number
  /** Seconds until the refresh token expires if it is not used. */
  refresh_token_timeout?: number
}
