import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'

/** What a user has just allowed. */
export type NewGrant = {
  grantId: string
  clientId: string
  userId: string
  /** The generation that the session was opened under: a user who was disabled meanwhile allows nothing. */
  userGeneration: number
  scope: readonly string[]
  audience: string
  redirectUri: string
  codeChallenge: string | undefined
  codeDigest: TokenDigest
  createdAt: Date
  /** When the row may leave if the code is never redeemed. */
  expiresAt: Date
}

export type OpenGrant = ReturnType<typeof createGrantOpening>

export function createGrantOpening(database: Database) {
  /**
   * Writes the grant with the generations of its user and client as they are now.
   * @returns false when the user or the client has been disabled or deleted, or the user's generation has moved on
   */
  return async (grant: NewGrant): Promise<boolean> => {
    const rows = await database.query<{ grant_id: string }>({
      name: 'open_grant',
      text: `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_challenge, code_hash,
          user_generation, client_generation, created_at, expires_at)
        select $1, c.client_id, u.user_id, $4, $5, $6, $7, $8, u.generation, c.generation, $10, $11
        from users u, clients c
        where u.user_id = $3 and u.generation = $9 and u.disabled_at is null
          and c.client_id = $2 and c.disabled_at is null
        returning grant_id`,
      values: [
        grant.grantId,
        grant.clientId,
        grant.userId,
        grant.scope,
        grant.audience,
        grant.redirectUri,
        grant.codeChallenge,
        grant.codeDigest,
        grant.userGeneration,
        grant.createdAt,
        grant.expiresAt
      ]
    })
    return rows.length > 0
  }
}
