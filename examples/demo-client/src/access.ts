import * as oauth from 'openid-client'
import type { Config } from './config.js'
import { Problem, problemOf } from './problems.js'
import type { Connection } from './sessions.js'

export type Discover = () => Promise<oauth.Configuration>

/** Fetches the metadata (RFC 8414) when it is first needed, so this app starts without the authorization server. */
export function discoverOnce({ issuer, clientId, clientSecret }: Config): Discover {
  let known: Promise<oauth.Configuration> | undefined
  // Plain http is for a trial on one machine; by default the library refuses it.
  const execute = issuer.protocol === 'http:' ? [oauth.allowInsecureRequests] : []
  const options: oauth.DiscoveryRequestOptions = { algorithm: 'oauth2', timeout: 8, execute }
  return () => {
    known ??= oauth
      .discovery(issuer, clientId, undefined, oauth.ClientSecretBasic(clientSecret), options)
      .catch((error: unknown) => {
        known = undefined
        throw error
      })
    return known
  }
}

/** Reads a token response. Without a new refresh token the old one stays in use (RFC 6749 §6). */
export function connectionFrom(response: oauth.TokenEndpointResponse, oldRefreshToken?: string): Connection {
  const { access_token: accessToken, refresh_token: refreshToken = oldRefreshToken, expires_in: seconds } = response
  // Renewed five seconds early, so that a token does not expire on its way to the files API.
  return { accessToken, refreshToken, expiresAt: Date.now() + (seconds ?? Number.POSITIVE_INFINITY) * 1_000 - 5_000 }
}

/**
 * Refreshes at most once at a time: refresh tokens rotate, and a second use of the old one would look like theft to the
 * authorization server (RFC 9700 §4.14.2).
 */
export async function renew(connection: Connection, refusedToken: string, discover: Discover): Promise<void> {
  // Another request of this browser has been faster.
  if (connection.accessToken !== refusedToken) return
  connection.renewal ??= refresh(connection, discover).finally(() => {
    connection.renewal = undefined
  })
  await connection.renewal
}

async function refresh(connection: Connection, discover: Discover): Promise<void> {
  const { refreshToken } = connection
  if (refreshToken === undefined) throw new Problem('access_ended')
  try {
    const response = await oauth.refreshTokenGrant(await discover(), refreshToken)
    Object.assign(connection, connectionFrom(response, refreshToken))
  } catch (error) {
    const problem = problemOf(error)
    if (problem === 'unexpected') throw error
    // After an outage the tokens may still be valid, so they are kept.
    throw new Problem(problem === 'sign_in_unreachable' ? 'renewal_unreachable' : 'access_ended', error)
  }
}

/** Revokes the tokens: the access tokens end with the refresh token (RFC 7009 §2.1). */
export async function revoke(connection: Connection, discover: Discover): Promise<void> {
  // A refresh in progress creates new tokens, which must be revoked too.
  await connection.renewal?.catch(() => undefined)
  await oauth.tokenRevocation(await discover(), connection.refreshToken ?? connection.accessToken)
}
