import { tokenRevocation } from 'openid-client'
import type { Connection } from '../session/session-store.js'
import type { Discover } from './authorization-server.js'
import { type Failure, failureOf } from './failure.js'

/** Revokes the tokens (RFC 7009). Returns the reason of a failure, or undefined. */
export async function endAccess(connection: Connection, discover: Discover): Promise<Failure | undefined> {
  try {
    // A concurrent refresh would create new tokens that are never revoked.
    await connection.renewal
    const { refreshToken, accessToken } = connection.tokens
    // Revoking the refresh token ends the access tokens with it (RFC 7009 §2.1).
    await tokenRevocation(await discover(), refreshToken ?? accessToken)
    return undefined
  } catch (error) {
    return failureOf(error)
  }
}
