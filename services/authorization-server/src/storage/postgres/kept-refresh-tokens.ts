import type { TokenHash, TokenKeys } from '@valetkey/oauth-protocol'
import { batchedByKey, type Database } from '@valetkey/service-kit'
import type { AccessTokenBuckets, AccessTokenKey } from './access-token-buckets.js'
import { toBytea } from './json-rows.js'
import { defineTableStatement, TABLE } from './table-statement.js'

/** A refresh that leaves the refresh token as it is. */
type KeptRefresh = {
  hash: TokenHash
  /** When the refresh token expires if it is not used again. */
  idleUntil: Date
  accessToken: AccessTokenKey & { scope: readonly string[]; expiresAt: Date }
  /** How often the grant may be refreshed: `burst` times at once, then once per interval. */
  pace: { burst: number; intervalSeconds: number }
  /** Keys of the new token. Undefined: a bearer token. */
  keys: TokenKeys | undefined
  /** The time of issue. */
  now: Date
}

/**
 * `too_soon`: requests at the same time were faster than the pace allows. `ended`: the grant, or the token was rotated, or the user has
 * made the end of the access earlier than that of this token.
 */
type KeptOutcome = 'kept' | 'too_soon' | 'ended'

/** Refreshes of clients whose refresh tokens are not rotated. Concurrent requests share a statement. */
export function keepRefreshTokens(database: Database, buckets: AccessTokenBuckets) {
  async function keepAll(batch: readonly KeptRefresh[], bucket: number): Promise<KeptOutcome[]> {
    const refreshes = JSON.stringify(batch.map(rowOf))
    const rows = await buckets.writeInto(bucket, (table) =>
      database.query<{ number: number; allowed: boolean }>(keepTokens(table, { refreshes }))
    )
    const outcomes: KeptOutcome[] = batch.map(() => 'ended')
    for (const { number, allowed } of rows) outcomes[number] = allowed ? 'kept' : 'too_soon'
    return outcomes
  }

  return {
    /**
     * Stores a new access token, and moves the end of the idle refresh token.
     * @throws {StoreUnavailable} also if `now` is more than 30 s from Postgres's clock
     */
    keep: batchedByKey(({ accessToken }: KeptRefresh) => accessToken.bucket, keepAll, { eachAloneWhenRefused: true })
  }
}

/**
 * Locks the grants in the order of their codes, as every statement that locks several grants. Nothing makes a second request with
 * the same token wait, so the pace is decided here again, also between the requests of one statement.
 */
const keepTokens = defineTableStatement(
  'keep_refresh_tokens',
  `with input as (
    select * from json_to_recordset(:refreshes)
      as a (number integer, token_hash bytea, issued_at timestamptz, idle_until timestamptz, access_hash bytea,
        access_scope text[], access_expires timestamptz, access_jkt text, burst interval, pause interval)
  ), locked as (
    select a.number, t.grant_id, t.user_generation, t.client_generation, greatest(now() - a.burst,
      case when g.refresh_allowed_from > now() + a.pause then now() else g.refresh_allowed_from end) as allowed_from
    from input a
    join refresh_tokens t on t.token_hash = a.token_hash and t.rotated_at is null
    join grants g on g.grant_id = t.grant_id and g.ended_at is null
      and (g.ends_at is null or greatest(a.access_expires, a.idle_until) <= g.ends_at)
    order by g.code_hash for no key update of g
  ), paced as (
    select l.*, l.allowed_from + a.pause * (row_number() over (partition by l.grant_id order by l.number) - 1) as due
    from locked l join input a on a.number = l.number
  ), allowed as (
    select a.*, p.grant_id, p.user_generation, p.client_generation, p.due
    from paced p join input a on a.number = p.number where p.due <= now()
  ), kept as (
    update refresh_tokens t set expires_at = n.idle_until
    from (select token_hash, max(idle_until) as idle_until from allowed group by token_hash) n
    where t.token_hash = n.token_hash
  ), access as (
    insert into ${TABLE} (token_hash, token_id, grant_id, scope, user_generation, client_generation,
      issued_at, expires_at, jkt)
    select access_hash, gen_random_uuid(), grant_id, access_scope, user_generation, client_generation,
      near_now(issued_at, now()), access_expires, access_jkt
    from allowed
  ), extended as (
    update grants g set last_used_at = now(), jkt = coalesce(g.jkt, n.jkt), refresh_allowed_from = n.allowed_from,
      extended_until = greatest(g.extended_until, n.until)
    from (select grant_id, max(access_jkt) as jkt, max(due + pause) as allowed_from,
      greatest(max(idle_until), max(access_expires)) as until from allowed group by grant_id) n
    where g.grant_id = n.grant_id
  )
  select number, due <= now() as allowed from paced`
)

/** A row of `input`. */
function rowOf({ hash, now, idleUntil, accessToken, pace, keys }: KeptRefresh, number: number) {
  return {
    number,
    token_hash: toBytea(hash),
    issued_at: now,
    idle_until: idleUntil,
    access_hash: toBytea(accessToken.hash),
    access_scope: accessToken.scope,
    access_expires: accessToken.expiresAt,
    access_jkt: keys?.accessToken,
    burst: `${(pace.burst - 1) * pace.intervalSeconds} seconds`,
    pause: `${pace.intervalSeconds} seconds`
  }
}
