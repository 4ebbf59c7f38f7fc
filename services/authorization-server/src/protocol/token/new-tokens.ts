import {
  type Client,
  expiryBucket,
  formatScope,
  hashToken,
  lifetimesOf,
  newOpaqueAccessToken,
  newOpaqueToken,
  type RandomBytes,
  type TokenKeys,
  type TokenLifetimes,
  type TokenResponse
} from '@valetkey/oauth-protocol'

/**
 * A new access token: `token` for the client, `hash` and `bucket` for the store.
 * @param lifetimes of tokens of the client
 * @param server.lifetimes of tokens of all clients without lifetimes of their own
 * @param endsAt when the access ends; undefined: the user chose no end
 */
export function newAccessToken(
  now: Date,
  lifetimes: TokenLifetimes,
  server: { lifetimes: TokenLifetimes; randomBytes: RandomBytes },
  endsAt: Date | undefined
) {
  const expiresAt = earlier(inSeconds(now, lifetimes.accessToken), endsAt)
  const bucket = expiryBucket(expiresAt, server.lifetimes.accessToken)
  const token = newOpaqueAccessToken(bucket, server.randomBytes)
  return { token, hash: hashToken(token), bucket, expiresAt }
}

/** The first tokens of a grant. @param endsAt when the access ends; undefined: the user chose no end */
export function newFirstTokens(
  now: Date,
  client: Client,
  server: { lifetimes: TokenLifetimes; randomBytes: RandomBytes },
  endsAt: Date | undefined
) {
  const lifetimes = lifetimesOf(client, server.lifetimes)
  const accessToken = newAccessToken(now, lifetimes, server, endsAt)
  if (!client.issuesRefreshTokens) return { accessToken, refreshToken: undefined, refreshableUntil: undefined }
  const refreshableUntil = earlier(inSeconds(now, lifetimes.refreshTokenMax), endsAt)
  const refreshToken = newRefreshToken(now, refreshableUntil, lifetimes, server.randomBytes)
  return { accessToken, refreshToken, refreshableUntil }
}

/** A new refresh token. It expires when it is idle for too long, and at the latest with its grant. */
export function newRefreshToken(
  now: Date,
  refreshableUntil: Date,
  lifetimes: TokenLifetimes,
  randomBytes: RandomBytes
) {
  const token = newOpaqueToken('refreshToken', randomBytes)
  return { token, hash: hashToken(token), expiresAt: idleEnd(now, refreshableUntil, lifetimes) }
}

/** When a refresh token expires that is used now, and not again. */
export function idleEnd(now: Date, refreshableUntil: Date, lifetimes: TokenLifetimes): Date {
  return earlier(inSeconds(now, lifetimes.refreshTokenIdle), refreshableUntil)
}

export function earlier(one: Date, other: Date | undefined): Date {
  return other !== undefined && other < one ? other : one
}

/** What the response says of ends. */
type ToldEnds = {
  /** When the access ends without the user's doing; undefined: with the access token. */
  access: Date | undefined
  /** When the refresh token expires if it is not used; undefined: there is none, or its end is not known here. */
  refreshToken: Date | undefined
}

/**
 * The response of the token endpoint (RFC 6749 §5.1), always with `scope`, also when it equals the requested scope.
 * @param ends undefined: the response says nothing of them
 */
export function tokenResponse(
  accessToken: { token: string; expiresAt: Date },
  refreshToken: { token: string } | undefined,
  scope: readonly string[],
  now: Date,
  keys: TokenKeys | undefined,
  ends: ToldEnds | undefined
): TokenResponse {
  return {
    access_token: accessToken.token,
    token_type: keys?.accessToken === undefined ? 'Bearer' : 'DPoP',
    expires_in: secondsUntil(accessToken.expiresAt, now),
    scope: formatScope(scope),
    ...(refreshToken && { refresh_token: refreshToken.token }),
    // draft-ietf-oauth-refresh-token-expiration-02
    ...(ends?.access && { authorization_expires_in: secondsUntil(ends.access, now) }),
    ...(ends?.refreshToken && { refresh_token_timeout: secondsUntil(ends.refreshToken, now) })
  }
}

/** Whole seconds, rounded down, so that no value is longer than the time that is left. */
function secondsUntil(end: Date, now: Date): number {
  return Math.max(0, Math.floor((end.getTime() - now.getTime()) / 1000))
}

export function inSeconds(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000)
}
