import type { TokenEndpointResponse } from 'openid-client'
import type { Tokens } from '../session/session-store.js'

/** Renewed a little early, so that a token does not expire on its way to the files API. */
const EARLY_MS = 5_000

/** `previous` matters at a refresh: without a new refresh token the old one stays in use (RFC 6749 §6). */
export function tokensFrom(response: TokenEndpointResponse, now: number, previous?: Tokens): Tokens {
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token ?? previous?.refreshToken,
    expiresAt: response.expires_in === undefined ? undefined : now + response.expires_in * 1_000 - EARLY_MS
  }
}
