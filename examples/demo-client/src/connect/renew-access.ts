import { refreshTokenGrant } from 'openid-client'
import type { Connection, Renewal, Session } from '../session/session-store.js'
import type { Discover } from './authorization-server.js'
import { failureOf } from './failure.js'
import { tokensFrom } from './token-response.js'

export type RenewDeps = { discover: Discover; now: () => number }
export type RenewAccess = (session: Session, refusedToken: string) => Promise<Renewal>

/**
 * Refreshes at most once at a time per session: refresh tokens rotate, and a second use of the old one would look like
 * theft to the authorization server (RFC 9700 §4.14.2).
 */
export function accessRenewal(deps: RenewDeps): RenewAccess {
  return async (session, refusedToken) => {
    const { connection } = session
    if (connection === undefined) return { kind: 'ended', cause: undefined }
    // Another request of this browser has been faster.
    if (connection.tokens.accessToken !== refusedToken) return { kind: 'renewed' }
    connection.renewal ??= renew(connection, deps).finally(() => {
      connection.renewal = undefined
    })
    return connection.renewal
  }
}

async function renew(connection: Connection, deps: RenewDeps): Promise<Renewal> {
  const { refreshToken } = connection.tokens
  if (refreshToken === undefined) return { kind: 'ended', cause: undefined }
  try {
    const answer = await refreshTokenGrant(await deps.discover(), refreshToken)
    connection.tokens = tokensFrom(answer, deps.now(), connection.tokens)
    return { kind: 'renewed' }
  } catch (error) {
    const { problem, cause } = failureOf(error)
    // After an outage the tokens may still be valid, so they are kept.
    return { kind: problem === 'sign_in_unreachable' ? 'unreachable' : 'ended', cause }
  }
}
