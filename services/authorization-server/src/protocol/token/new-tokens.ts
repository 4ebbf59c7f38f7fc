import {
  expiryBucket,
  formatScope,
  hashToken,
  newOpaqueAccessToken,
  newOpaqueToken,
  type RandomBytes,
  type TokenLifetimes,
  type TokenResponse
} from '@valetkey/oauth-protocol'

/**
 * A new access token: `token` for the client, `hash` and `bucket` for the store.
 * @param lifetimes of tokens of the client
 * @param server.lifetimes of tokens of all clients without lifetimes of their own
 */
export function newAccessToken(
  now: Date,
  lifetimes: TokenLifetimes,
  server: { lifetimes: TokenLifetimes; randomBytes: RandomBytes }
) {
  const expiresAt = inSeconds(now, lifetimes.accessToken)
  const bucket = expiryBucket(expiresAt, server.lifetimes.accessToken)
  const token = newOpaqueAccessToken(bucket, server.randomBytes)
  return { token, hash: hashToken(token), bucket, expiresAt }
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
