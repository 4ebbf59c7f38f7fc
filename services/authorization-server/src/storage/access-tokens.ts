import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'

export function createAccessTokenStore(database: Database) {
  return {
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
