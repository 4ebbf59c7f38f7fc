import type { Database } from '@valetkey/service-kit'
import { type AccessTokenKey, createAccessTokenBuckets } from './access-token-buckets.js'
import { defineTableStatement, TABLE } from './table-statement.js'

const revokeToken = defineTableStatement(
  'revoke_access_token',
  `update ${TABLE} t set revoked_at = now() from grants g
  where t.token_hash = :hash and t.revoked_at is null and g.grant_id = t.grant_id and g.client_id = :clientId
  returning t.token_id, t.grant_id, g.user_id`
)

export function createAccessTokenStore(database: Database, buckets = createAccessTokenBuckets(database)) {
  return {
    /** Ends only this token, if it was issued to this client (RFC 7009 §2.1). */
    async revoke(
      { hash, bucket }: AccessTokenKey,
      clientId: string
    ): Promise<{ tokenId: string; grantId: string; userId: string } | undefined> {
      const found = await buckets.find(bucket)
      if (found === undefined) return undefined
      const rows = await buckets.rowsOf(found, (table) =>
        database.query<{ token_id: string; grant_id: string; user_id: string }>(revokeToken(table, { hash, clientId }))
      )
      return rows.map((row) => ({ tokenId: row.token_id, grantId: row.grant_id, userId: row.user_id }))[0]
    }
  }
}

export type AccessTokenStore = ReturnType<typeof createAccessTokenStore>
