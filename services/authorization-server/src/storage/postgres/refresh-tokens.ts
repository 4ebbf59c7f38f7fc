import type { TokenHash, TokenKeys } from '@valetkey/oauth-protocol'
import { batched, batchedByKey, type Database, defineStatement } from '@valetkey/service-kit'
import { type AccessTokenKey, createAccessTokenBuckets } from './access-token-buckets.js'
import { AUTHORIZED } from './authorization-generation.js'
import { toBytea } from './json-rows.js'
import { keepRefreshTokens } from './kept-refresh-tokens.js'
import { type RefreshTokenRecord, type RefreshTokenRow, toRecord } from './refresh-token-record.js'
import { remainingScope } from './remaining-scope.js'
import { defineTableStatement, TABLE } from './table-statement.js'

export type { RefreshTokenRecord } from './refresh-token-record.js'

export type Rotation = {
  hash: TokenHash
  successor: { hash: TokenHash; expiresAt: Date }
  accessToken: AccessTokenKey & { scope: readonly string[]; expiresAt: Date }
  /** The encrypted response for a client that lost it; undefined if the retry window is disabled. */
  retry: { until: Date; response: Buffer } | undefined
  /** The requested scope, to recognise a repeated request. */
  retryScope: string
  /** How often the grant may be refreshed: `burst` times at once, then once per interval. */
  pace: { burst: number; intervalSeconds: number }
  /** Keys of the new tokens. Undefined: bearer tokens. */
  keys?: TokenKeys | undefined
}

/** A rotation with the time of issue of the new tokens. */
type TimedRotation = Rotation & { now: Date }

/**
 * Concurrent requests share the statements of `find` and `rotate`. Gain: 32 concurrent refreshes cost two statements instead
 * of 64 (`npm run bench:gates`).
 * @param options.signInAtLeastEvery `SIGN_IN_AT_LEAST_EVERY` in seconds; 0: off
 * @param options.onBatch receives how many lookups share each statement
 */
export function createRefreshTokenStore(
  database: Database,
  buckets = createAccessTokenBuckets(database),
  { signInAtLeastEvery = 0, onBatch }: { signInAtLeastEvery?: number; onBatch?: (size: number) => void } = {}
) {
  async function findAll(hashes: readonly TokenHash[]): Promise<(RefreshTokenRecord | undefined)[]> {
    const rows = await database.query<RefreshTokenRow>(findTokens({ hashes, signInAtLeastEvery }))
    const found: (RefreshTokenRecord | undefined)[] = hashes.map(() => undefined)
    for (const row of rows) found[row.number - 1] = toRecord(row)
    return found
  }

  async function rotateAll(batch: readonly TimedRotation[], bucket: number): Promise<boolean[]> {
    const rotations = JSON.stringify(batch.map(rowOf))
    const rows = await buckets.writeInto(bucket, (table) =>
      database.query<{ number: number }>(rotateTokens(table, { rotations }))
    )
    const rotated = new Set(rows.map((row) => row.number))
    return batch.map((_, index) => rotated.has(index))
  }

  const rotateOne = batchedByKey(bucketOf, rotateAll, { eachAloneWhenRefused: true })
  return {
    find: batched(findAll, { onBatch }),
    ...keepRefreshTokens(database, buckets),

    /**
     * Replaces a refresh token and stores the new tokens in one statement: after a crash, either the old token or the new
     * tokens are valid. Erases the stored response of the predecessor, because the use of its successor shows that the client
     * received it.
     * @param now the time of issue of the new tokens
     * @returns false if another request rotated the token first, its grant has ended, or its user has made the end earlier than that of
     *   these tokens
     * @throws {StoreUnavailable} also if `now` is more than 30 s from Postgres's clock
     */
    rotate: (rotation: Rotation, now: Date): Promise<boolean> => rotateOne({ ...rotation, now }),

    /** Ends the grant of a refresh token, current or rotated, if the token was issued to this client (RFC 7009 §2.1). */
    async endGrant(hash: TokenHash, clientId: string): Promise<{ grantId: string; userId: string } | undefined> {
      const rows = await database.query<{ grant_id: string; user_id: string }>(endGrantOf({ hash, clientId }))
      return rows.map((row) => ({ grantId: row.grant_id, userId: row.user_id }))[0]
    }
  }
}

export type RefreshTokenStore = ReturnType<typeof createRefreshTokenStore>

const bucketOf = ({ accessToken }: Rotation): number => accessToken.bucket

const findTokens = defineStatement(
  'find_refresh_token',
  `select input.number::integer, t.grant_id, g.client_id, g.user_id, g.scope,
    remaining.scope as remaining_scope, g.audience,
    t.expires_at <= now() as expired, g.refreshable_until, g.ends_at,
    greatest(0, extract(epoch from g.refresh_allowed_from - now()))::float8 as wait_seconds,
    (g.ended_at is not null or coalesce(g.ends_at <= now(), false) or u.user_id is null or c.client_id is null
      or not (${AUTHORIZED})) as ended,
    coalesce(:signInAtLeastEvery::float8 > 0
      and coalesce(u.last_signed_in_at, u.created_at) <= now() - make_interval(secs => :signInAtLeastEvery::float8), false)
      as sign_in_too_old,
    t.rotated_at is not null as rotated, t.retry_scope,
    case when t.retry_until > now() then t.retry_response end as retry_response,
    t.jkt, g.jkt is not null as was_bound, g.requires_key
  from unnest(:hashes::bytea[]) with ordinality as input (token_hash, number)
  join refresh_tokens t on t.token_hash = input.token_hash
  join grants g on g.grant_id = t.grant_id
  left join users u on u.user_id = g.user_id and u.generation = t.user_generation
  left join clients c on c.client_id = g.client_id and c.generation = t.client_generation
  left join authorizations n on n.user_id = g.user_id and n.client_id = g.client_id
  ${remainingScope('g')}`
)

const endGrantOf = defineStatement(
  'end_grant_of_refresh_token',
  `update grants g set ended_at = now() from refresh_tokens t
  where t.token_hash = :hash and g.grant_id = t.grant_id and g.client_id = :clientId and g.ended_at is null
  returning g.grant_id, g.user_id`
)

/**
 * Locks the grants first and in the order of their codes, as every statement that locks several grants, to prevent deadlocks.
 * Of several requests with the same token, one rotates it: its row is updated once. The retry window begins when the statement
 * runs, which can be long after the request got 503.
 */
const rotateTokens = defineTableStatement(
  'rotate_refresh_tokens',
  `with input as (
    select * from json_to_recordset(:rotations)
      as a (number integer, token_hash bytea, issued_at timestamptz, retry_until timestamptz, retry_scope text,
        retry_response bytea, successor_hash bytea, successor_expires timestamptz, access_hash bytea,
        access_scope text[], access_expires timestamptz, burst_seconds float8, interval_seconds float8,
        access_jkt text, successor_jkt text)
  ), locked as (
    select a.number, a.token_hash from input a
    join refresh_tokens t on t.token_hash = a.token_hash and t.rotated_at is null
    join grants g on g.grant_id = t.grant_id and g.ended_at is null
      and (g.ends_at is null or greatest(a.access_expires, a.successor_expires) <= g.ends_at)
    order by g.code_hash for no key update of g
  ), rotated as (
    update refresh_tokens t set rotated_at = near_now(a.issued_at, now()),
      retry_until = a.retry_until + (now() - a.issued_at), retry_scope = a.retry_scope,
      retry_response = a.retry_response
    from locked join input a on a.number = locked.number
    where t.token_hash = locked.token_hash and t.rotated_at is null
    returning a.number, t.grant_id, t.user_generation, t.client_generation, t.predecessor_hash
  ), erased as (
    update refresh_tokens p set retry_response = null from rotated where p.token_hash = rotated.predecessor_hash
  ), successor as (
    insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at,
      predecessor_hash, jkt)
    select a.successor_hash, r.grant_id, r.user_generation, r.client_generation, a.issued_at, a.successor_expires,
      a.token_hash, a.successor_jkt
    from rotated r join input a on a.number = r.number
  ), access as (
    insert into ${TABLE} (token_hash, token_id, grant_id, scope, user_generation, client_generation,
      issued_at, expires_at, jkt)
    select a.access_hash, gen_random_uuid(), r.grant_id, a.access_scope, r.user_generation,
      r.client_generation, a.issued_at, a.access_expires, a.access_jkt
    from rotated r join input a on a.number = r.number
  )
  update grants g set last_used_at = now(), jkt = coalesce(g.jkt, a.access_jkt),
    extended_until = greatest(g.extended_until, a.successor_expires, a.access_expires),
    refresh_allowed_from = greatest(least(coalesce(g.refresh_allowed_from, '-infinity'), now()),
      now() - make_interval(secs => a.burst_seconds)) + make_interval(secs => a.interval_seconds)
  from rotated r join input a on a.number = r.number where g.grant_id = r.grant_id
  returning a.number`
)

/** A row of `input`. */
function rowOf({ hash, now, retry, retryScope, successor, accessToken, pace, keys }: TimedRotation, number: number) {
  return {
    number,
    token_hash: toBytea(hash),
    issued_at: now,
    retry_until: retry?.until,
    retry_scope: retryScope,
    retry_response: retry && toBytea(retry.response),
    successor_hash: toBytea(successor.hash),
    successor_expires: successor.expiresAt,
    access_hash: toBytea(accessToken.hash),
    access_scope: accessToken.scope,
    access_expires: accessToken.expiresAt,
    burst_seconds: (pace.burst - 1) * pace.intervalSeconds,
    interval_seconds: pace.intervalSeconds,
    access_jkt: keys?.accessToken,
    successor_jkt: keys?.refreshToken
  }
}
