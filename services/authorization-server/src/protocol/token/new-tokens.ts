import {
  formatScope,
  hashToken,
  newOpaqueAccessToken,
  newOpaqueToken,
  type RandomBytes,
  type TokenLifetimes,
  type TokenResponse
} from '@valetkey/oauth-protocol'

/** A new access token: `token` for the client, `hash` for the store. */
export function newAccessToken(now: Date, lifetimes: TokenLifetimes, randomBytes: RandomBytes) {
  const expiresAt = inSeconds(now, lifetimes.accessToken)
  const token = newOpaqueAccessToken(expiresAt, randomBytes)
  return { token, hash: hashToken(token), expiresAt }
}

/** A new refresh token. It expires when it is idle for too long, and at the latest with its grant. */
export function newRefreshToken(
  now: Date,
  refreshableUntil: Date,
  lifetimes: TokenLifetimes,
  randomBytes: RandomBytes
) {
  const idleUntil = inSeconds(now, lifetimes.refreshTokenIdle)
  const token = newOpaqueToken('refreshToken', randomBytes)
  return { token, hash: hashToken(token), expiresAt: idleUntil < refreshableUntil ? idleUntil : refreshableUntil }
}

/** The response of the token endpoint (RFC 6749 §5.1), always with `scope`, also when it equals the requested scope. */
export function tokenResponse(
  accessToken: { token: string; expiresAt: Date },
  refreshToken: { token: string } | undefined,
  scope: readonly string[],
  now: Date
): TokenResponse {
  return {
    access_token: accessToken.token,
    token_type: 'Bearer',
    expires_in: Math.max(0, Math.floor((accessToken.expiresAt.getTime() - now.getTime()) / 1000)),
    scope: formatScope(scope),
    ...(refreshToken && { refresh_token: refreshToken.token })
  }
}

export function inSeconds(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000)
}
