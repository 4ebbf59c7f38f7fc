import type { Client } from '@valetkey/oauth-protocol'

/** Seconds. */
export type TokenLifetimes = { accessToken: number; refreshTokenIdle: number; refreshTokenMax: number }

/** How long this client's tokens live: as the server is set to, or as the client is registered where that is shorter. */
export function lifetimesOf({ lifetimes }: Pick<Client, 'lifetimes'>, server: TokenLifetimes): TokenLifetimes {
  if (lifetimes === undefined) return server
  const shorter = (own: number | undefined, ofServer: number) => Math.min(own ?? ofServer, ofServer)
  return {
    accessToken: shorter(lifetimes.accessToken, server.accessToken),
    refreshTokenIdle: shorter(lifetimes.refreshTokenIdle, server.refreshTokenIdle),
    refreshTokenMax: shorter(lifetimes.refreshTokenMax, server.refreshTokenMax)
  }
}
