import { bucketOfAccessToken, hashToken, isWellFormed, type TokenHash } from '@valetkey/oauth-protocol'
import { type Database, defineStatement } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from '../../storage/postgres/access-token-buckets.js'
import { defineTableStatement, TABLE } from '../../storage/postgres/table-statement.js'

/** The live grant that a token belongs to. */
export type TokenGrant = { grantId: string; userId: string; clientId: string }

type Row = { grant_id: string; user_id: string; client_id: string }

const findByAccessToken = defineTableStatement(
  'find_grant_of_access_token',
  `select g.grant_id, g.user_id, g.client_id from ${TABLE} t join grants g on g.grant_id = t.grant_id and g.ended_at is null
  where t.token_hash = :hash and t.revoked_at is null and t.expires_at > now()`
)

/** A rotated token as well: a client that repeats its refresh may have the live one. */
const findByRefreshToken = defineStatement(
  'find_grant_of_refresh_token',
  `select g.grant_id, g.user_id, g.client_id from refresh_tokens t join grants g on g.grant_id = t.grant_id and g.ended_at is null
  where t.token_hash = :hash and t.expires_at > now()`
)

export function createTokenGrantStore(database: Database, buckets = createAccessTokenBuckets(database)) {
  async function findInBucket(bucket: number, hash: TokenHash): Promise<Row[]> {
    const found = await buckets.find(bucket)
    if (found === undefined) return []
    return buckets.rowsOf(found, (table) => database.query<Row>(findByAccessToken(table, { hash })))
  }

  return {
    /**
     * The live grant of an access token or a refresh token, with at most one statement; none for a value with a wrong prefix, length
     * or checksum, which was never issued.
     */
    async find(token: string): Promise<TokenGrant | undefined> {
      const bucket = bucketOfAccessToken(token)
      let rows: Row[] = []
      if (bucket !== undefined) rows = await findInBucket(bucket, hashToken(token))
      else if (isWellFormed('refreshToken', token))
        rows = await database.query<Row>(findByRefreshToken({ hash: hashToken(token) }))
      return rows.map((row) => ({ grantId: row.grant_id, userId: row.user_id, clientId: row.client_id }))[0]
    }
  }
}

export type TokenGrantStore = ReturnType<typeof createTokenGrantStore>
