import type { Database } from '@valetkey/service-kit'
import { type AccessTokenKey, createAccessTokenBuckets, isOver } from './access-token-buckets.js'

export function createAccessTokenStore(database: Database, buckets = createAccessTokenBuckets(database)) {
  return {
    /** Ends this token only, and only if it is the client's own (RFC 7009 §2.1). */
    async revoke(
      { digest, bucket }: AccessTokenKey,
      clientId: string,
      now: Date
    ): Promise<{ tokenId: string; grantId: string; userId: string } | undefined> {
      if (isOver(bucket, now)) return undefined
      const table = buckets.tableOf(bucket) ?? (await buckets.find(bucket))
      const rows = await buckets.orWithout(table, (place) =>
        database.query<{ token_id: string; grant_id: string; user_id: string }>({
          ...revokeIn(place),
          values: [digest, clientId, now]
        })
      )
      return rows.map((row) => ({ tokenId: row.token_id, grantId: row.grant_id, userId: row.user_id }))[0]
    }
  }
}

export type AccessTokenStore = ReturnType<typeof createAccessTokenStore>

/** Also in `only access_tokens`, where a release writes that knows no buckets. */
function revokeIn(table: string | undefined): { name: string; text: string } {
  const revoke = (place: string) => `update ${place} t set revoked_at = $3 from grants g
    where t.token_hash = $1 and t.revoked_at is null and g.grant_id = t.grant_id and g.client_id = $2
    returning t.token_id, t.grant_id, g.user_id`
  const text = revoke('only access_tokens')
  return {
    name: `revoke_access_token_in_${table}`,
    text:
      table === undefined
        ? text
        : `with own as (${revoke(table)}), older as (${text})
      select token_id, grant_id, user_id from own union all select token_id, grant_id, user_id from older`
  }
}
