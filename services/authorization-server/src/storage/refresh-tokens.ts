import { expiryBucket, type TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, gatherCalls } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from './access-token-buckets.js'

/** A refresh token with what its grant says of it. */
export type RefreshTokenRecord = {
  grantId: string
  clientId: string
  userId: string
  /** Of the grant: a refresh token never holds less, however narrow an access token was asked for. */
  scope: readonly string[]
  audience: string
  expiresAt: Date
  refreshableUntil: Date
  /** The grant was ended, or its user or client has been disabled or deleted. */
  ended: boolean
  rotation: { retryUntil: Date | undefined; retryScope: string; retryAnswer: Buffer | undefined } | undefined
}

export type Rotation = {
  digest: TokenDigest
  successor: { digest: TokenDigest; expiresAt: Date }
  accessToken: { digest: TokenDigest; tokenId: string; scope: readonly string[]; expiresAt: Date }
  /** The answer for a client that lost it; undefined when the retry window is switched off. */
  retry: { until: Date; answer: Buffer } | undefined
  /** The scope as it was asked for, to know the same request again. */
  retryScope: string
}

type RefreshTokenRow = {
  number: number
  grant_id: string
  client_id: string
  user_id: string
  scope: string[]
  audience: string
  expires_at: Date
  refreshable_until: Date
  ended: boolean
  rotated: boolean
  retry_until: Date | null
  retry_scope: string | null
  retry_answer: Buffer | null
}

/** @param onBatch hears how many share each look */
export function createRefreshTokenStore(
  database: Database,
  buckets = createAccessTokenBuckets(database),
  onBatch?: (size: number) => void
) {
  async function findAll(digests: readonly TokenDigest[]): Promise<(RefreshTokenRecord | undefined)[]> {
    const rows = await database.query<RefreshTokenRow>({
      name: 'find_refresh_token',
      text: `select asked.number::integer, t.grant_id, g.client_id, g.user_id, g.scope, g.audience, t.expires_at,
          g.refreshable_until, (g.ended_at is not null or u.user_id is null or c.client_id is null) as ended,
          t.rotated_at is not null as rotated, t.retry_until, t.retry_scope, t.retry_answer
        from unnest($1::bytea[]) with ordinality as asked (token_hash, number)
        join refresh_tokens t on t.token_hash = asked.token_hash
        join grants g on g.grant_id = t.grant_id
        left join users u on u.user_id = g.user_id and u.generation = t.user_generation
        left join clients c on c.client_id = g.client_id and c.generation = t.client_generation`,
      values: [digests]
    })
    const found: (RefreshTokenRecord | undefined)[] = digests.map(() => undefined)
    for (const row of rows) found[row.number - 1] = toRecord(row)
    return found
  }

  /** One look for all who ask at the time. */
  const find = gatherCalls(findAll, undefined, onBatch)

  return {
    find,

    /**
     * Replaces a refresh token and stores the new pair, all in one statement: after a crash either the old token works or
     * the new pair does. The stored answer of the token before it is erased, for its successor is used now.
     * @returns false when another request rotated it first, or its grant has ended
     */
    async rotate(rotation: Rotation, now: Date): Promise<boolean> {
      const bucket = expiryBucket(rotation.accessToken.expiresAt)
      const values = valuesOf(rotation, now)
      const rows = await buckets.writeInto(bucket, (table) => database.query({ ...rotateInto(table), values }))
      return rows.length > 0
    },

    /** Ends the whole grant of a refresh token, current or rotated, if it is the client's own (RFC 7009 §2.1). */
    async endGrant(
      digest: TokenDigest,
      clientId: string,
      now: Date
    ): Promise<{ grantId: string; userId: string } | undefined> {
      const rows = await database.query<{ grant_id: string; user_id: string }>({
        name: 'end_grant_of_refresh_token',
        text: `update grants g set ended_at = $3 from refresh_tokens t
          where t.token_hash = $1 and g.grant_id = t.grant_id and g.client_id = $2 and g.ended_at is null
          returning g.grant_id, g.user_id`,
        values: [digest, clientId, now]
      })
      return rows.map((row) => ({ grantId: row.grant_id, userId: row.user_id }))[0]
    }
  }
}

export type RefreshTokenStore = ReturnType<typeof createRefreshTokenStore>

function toRecord(row: RefreshTokenRow): RefreshTokenRecord {
  return {
    grantId: row.grant_id,
    clientId: row.client_id,
    userId: row.user_id,
    scope: row.scope,
    audience: row.audience,
    expiresAt: row.expires_at,
    refreshableUntil: row.refreshable_until,
    ended: row.ended,
    rotation: row.rotated
      ? {
          retryUntil: row.retry_until ?? undefined,
          retryScope: row.retry_scope ?? '',
          retryAnswer: row.retry_answer ?? undefined
        }
      : undefined
  }
}

function rotateInto(table: string): { name: string; text: string } {
  return {
    name: `rotate_refresh_token_in_${table}`,
    text: `with rotated as (
            update refresh_tokens t set rotated_at = $2, retry_until = $3, retry_scope = $4, retry_answer = $5
            from grants g
            where t.token_hash = $1 and t.rotated_at is null and g.grant_id = t.grant_id and g.ended_at is null
            returning t.grant_id, t.user_generation, t.client_generation, t.predecessor_hash
          ), erased as (
            update refresh_tokens p set retry_answer = null from rotated where p.token_hash = rotated.predecessor_hash
          ), successor as (
            insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at,
              predecessor_hash)
            select $6, grant_id, user_generation, client_generation, $2, $7, $1 from rotated
          ), access as (
            insert into ${table} (token_hash, token_id, grant_id, scope, user_generation, client_generation,
              issued_at, expires_at)
            select $8, $9, grant_id, $10, user_generation, client_generation, $2, $11 from rotated
          )
          update grants g set last_used_at = $2, expires_at = greatest(g.expires_at, $7::timestamptz, $11::timestamptz)
          from rotated where g.grant_id = rotated.grant_id returning g.grant_id`
  }
}

function valuesOf(rotation: Rotation, now: Date): unknown[] {
  return [
    rotation.digest,
    now,
    rotation.retry?.until,
    rotation.retryScope,
    rotation.retry?.answer,
    rotation.successor.digest,
    rotation.successor.expiresAt,
    rotation.accessToken.digest,
    rotation.accessToken.tokenId,
    rotation.accessToken.scope,
    rotation.accessToken.expiresAt
  ]
}
