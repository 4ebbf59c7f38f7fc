import type { ActiveAccessToken, TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'

type ActiveRow = {
  token_id: string
  grant_id: string
  client_id: string
  user_id: string
  scope: string[]
  audience: string
  issued_at: Date
  expires_at: Date
}

export function createAccessTokenStore(database: Database) {
  return {
    /**
     * A token that is alive: neither expired nor revoked, its grant not ended, and the generations of its user and
     * client still those of the day it was allowed. A deleted user or client is missing from the join.
     */
    async findActive(digest: TokenDigest, now: Date): Promise<ActiveAccessToken | undefined> {
      const rows = await database.query<ActiveRow>({
        name: 'find_active_access_token',
        text: `select t.token_id, t.grant_id, g.client_id, g.user_id, t.scope, g.audience, t.issued_at, t.expires_at
          from access_tokens t
          join grants g on g.grant_id = t.grant_id and g.ended_at is null
          join users u on u.user_id = g.user_id and u.generation = t.user_generation
          join clients c on c.client_id = g.client_id and c.generation = t.client_generation
          where t.token_hash = $1 and t.expires_at > $2 and t.revoked_at is null`,
        values: [digest, now]
      })
      return rows.map((row) => ({
        tokenId: row.token_id,
        grantId: row.grant_id,
        clientId: row.client_id,
        userId: row.user_id,
        scope: row.scope,
        audience: row.audience,
        issuedAt: row.issued_at,
        expiresAt: row.expires_at
      }))[0]
    },

    /** Ends this token only, and only if it is the client's own (RFC 7009 §2.1). */
    async revoke(
      digest: TokenDigest,
      clientId: string,
      now: Date
    ): Promise<{ tokenId: string; grantId: string; userId: string } | undefined> {
      const rows = await database.query<{ token_id: string; grant_id: string; user_id: string }>({
        name: 'revoke_access_token',
        text: `update access_tokens t set revoked_at = $3 from grants g
          where t.token_hash = $1 and t.revoked_at is null and g.grant_id = t.grant_id and g.client_id = $2
          returning t.token_id, t.grant_id, g.user_id`,
        values: [digest, clientId, now]
      })
      return rows.map((row) => ({ tokenId: row.token_id, grantId: row.grant_id, userId: row.user_id }))[0]
    }
  }
}

export type AccessTokenStore = ReturnType<typeof createAccessTokenStore>
