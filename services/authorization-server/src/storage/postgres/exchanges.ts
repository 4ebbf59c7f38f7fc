import type { TokenHash, TokenKeys } from '@valetkey/oauth-protocol'
import { batchedByKey, type Database, StoreUnavailable } from '@valetkey/service-kit'
import type { AllowedGrant } from '../redis/code-record.js'
import type { AccessTokenBuckets, AccessTokenKey } from './access-token-buckets.js'
import { AUTHORIZATION_GENERATION } from './authorization-generation.js'
import { GRANT_EXPIRES_AT } from './grant-expires-at.js'
import { toBytea } from './json-rows.js'
import { remainingScope } from './remaining-scope.js'
import { defineTableStatement, TABLE } from './table-statement.js'

/** The first tokens of a grant, with the scope of the grant. */
export type FirstTokens = {
  /** The time by the clock of Postgres, as this process knows it. */
  issuedAt: Date
  accessToken: AccessTokenKey & { expiresAt: Date }
  refreshToken: { hash: TokenHash; expiresAt: Date } | undefined
  /** Absolute end of refreshing, not later than that of the access; undefined without a refresh token. */
  refreshableUntil: Date | undefined
  /** Undefined: bearer tokens. */
  keys?: TokenKeys | undefined
  /** Its refreshes need the key of the client, also if the client no longer says so (ADR 0031). */
  requiresKey?: boolean | undefined
}

export type Exchange = { grantId: string; codeHash: TokenHash; allowed: AllowedGrant; tokens: FirstTokens }

/**
 * @property scope what is left of the scope of the code
 * @property ended grants of the same user and client that ended, because there were too many
 */
export type StoredExchange = { scope: readonly string[]; ended: readonly string[] }

/**
 * Undefined if nothing was stored: a grant for this code exists, or since Allow the user, the client or the user's authorization of
 * the client has ended, or the client has lost the redirect URI of the code or all of its scopes.
 */
type Outcome = StoredExchange | undefined

/**
 * Grants of one user and client that live at once: one for each of their devices and browsers. With more, the oldest end, so that
 * a user cannot fill the tables with grants that live for 90 days each. `LIMITS_FACTOR` multiplies it.
 */
const MOST_GRANTS = 50
/** An exchange reads an index entry of every grant up to the limit. So a higher limit, as load tests set, is none. */
const HIGHEST_LIMIT = 5_000
/** One exchange ends no more, so that it never takes long. */
const MOST_ENDED = 10

export type ExchangeOptions = {
  limitsFactor?: number
  /** Receives how many exchanges share each statement. */
  onBatch?: ((size: number) => void) | undefined
}

/** Stores grants with their first tokens. Concurrent exchanges share a statement if their access tokens have the same table. */
export function createExchanges(
  database: Database,
  buckets: AccessTokenBuckets,
  { limitsFactor = 1, onBatch }: ExchangeOptions = {}
): (exchange: Exchange) => Promise<Outcome> {
  const limit = Math.max(1, Math.floor(MOST_GRANTS * limitsFactor))
  const mostGrants = limit > HIGHEST_LIMIT ? null : limit

  async function storeAll(batch: readonly Exchange[], bucket: number): Promise<readonly Outcome[]> {
    const rows = await buckets.writeInto(bucket, (table) => storeOnce(database, { table, mostGrants }, batch))
    const stored = new Map(
      rows.map(({ grant_id, scope, ended }) => [grant_id, { scope: scope.split(' '), ended: ended ?? [] }])
    )
    return batch.map(({ grantId }) => stored.get(grantId))
  }

  return batchedByKey(bucketOf, storeAll, { onBatch, eachAloneWhenRefused: true })
}

const bucketOf = ({ tokens }: Exchange) => tokens.accessToken.bucket

/**
 * The unique hash of the code decides which exchange creates the grant, even if Redis loses or repeats the code. A row without
 * `redeemed_at` comes from an exchange whose client has no tokens (`discardUndelivered`): this exchange reuses it, unless the row
 * has ended. Every statement that locks several grants locks them in the order of their codes, to prevent deadlocks. Of too many
 * grants of a user and a client, the oldest end; those of this statement are not visible to it yet.
 */
const storeExchanges = defineTableStatement(
  'store_exchange',
  `with input as (
    select * from json_to_recordset(:exchanges)
      as a (grant_id uuid, code_hash bytea, client_id text, user_id uuid, user_generation integer,
        client_generation integer, authorization_generation integer, scope text[], newest_scope integer, audience text, redirect_uri text,
        code_challenge text, issued_at timestamptz, access_hash bytea, access_expires timestamptz,
        refresh_hash bytea, refresh_expires timestamptz, refreshable_until timestamptz, dpop_jkt text, access_jkt text,
        refresh_jkt text, authenticated_at timestamptz, requires_key boolean, ends_at timestamptz, authorization_details jsonb)
  ), opened as (
    insert into grants (grant_id, client_id, user_id, scope, newest_scope, audience, redirect_uri, code_challenge, code_hash,
      user_generation, client_generation, authorization_generation, created_at, redeemed_at, last_used_at,
      refreshable_until, expires_at, dpop_jkt, jkt, authenticated_at, requires_key, ends_at, authorization_details)
    select a.grant_id, a.client_id, a.user_id, remaining.scope, a.newest_scope, a.audience, a.redirect_uri,
      a.code_challenge, a.code_hash, a.user_generation, a.client_generation, a.authorization_generation,
      near_now(a.issued_at, now()), a.issued_at, a.issued_at, a.refreshable_until,
      greatest(a.access_expires, a.refresh_expires), a.dpop_jkt, a.access_jkt,
      a.authenticated_at, a.requires_key, a.ends_at, a.authorization_details
    from input a
    join users u on u.user_id = a.user_id and u.generation = a.user_generation
    join clients c on c.client_id = a.client_id and c.generation = a.client_generation
      and (a.redirect_uri = any (c.redirect_uris) or a.redirect_uri like 'http://%')
    left join authorizations n on n.user_id = a.user_id and n.client_id = a.client_id
    ${remainingScope('a')}
    where ${AUTHORIZATION_GENERATION} = a.authorization_generation and remaining.scope is not null
    order by a.code_hash
    on conflict (code_hash) do update set grant_id = excluded.grant_id, scope = excluded.scope, redeemed_at = excluded.redeemed_at,
      last_used_at = excluded.last_used_at, refreshable_until = excluded.refreshable_until,
      expires_at = excluded.expires_at, jkt = excluded.jkt, requires_key = excluded.requires_key
    where grants.redeemed_at is null and grants.ended_at is null
    returning grant_id, scope
  ), access as (
    insert into ${TABLE} (token_hash, token_id, grant_id, scope, user_generation, client_generation, issued_at,
      expires_at, jkt)
    select a.access_hash, gen_random_uuid(), a.grant_id, opened.scope, a.user_generation,
      a.client_generation, a.issued_at, a.access_expires, a.access_jkt
    from opened join input a on a.grant_id = opened.grant_id
  ), refresh as (
    insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at, jkt)
    select a.refresh_hash, a.grant_id, a.user_generation, a.client_generation, a.issued_at, a.refresh_expires, a.refresh_jkt
    from opened join input a on a.grant_id = opened.grant_id where a.refresh_hash is not null
  ), pairs as (
    select a.user_id, a.client_id, count(*) as opened, min(a.grant_id::text)::uuid as grant_id
    from opened join input a on a.grant_id = opened.grant_id group by 1, 2
  ), surplus as (
    select pairs.grant_id as opened_id, old.grant_id from pairs cross join lateral (
      select g.grant_id from grants g
      where g.user_id = pairs.user_id and g.client_id = pairs.client_id and g.ended_at is null
        and g.redeemed_at is not null and ${GRANT_EXPIRES_AT} > now()
      order by g.ended_at desc, g.created_at desc offset greatest(0, :mostGrants::bigint - pairs.opened)
      limit case when :mostGrants::bigint is null then 0 else ${MOST_ENDED} end) as old
  ), locked as (
    select g.grant_id, surplus.opened_id from grants g join surplus on surplus.grant_id = g.grant_id
    where g.ended_at is null order by g.code_hash for no key update of g
  ), ended as (
    update grants g set ended_at = now() from locked where g.grant_id = locked.grant_id
    returning g.grant_id, locked.opened_id
  )
  select grant_id, array_to_string(scope, ' ') as scope, (select array_agg(e.grant_id) from ended e where e.opened_id = opened.grant_id) as ended
  from opened`
)

/** A row of `input`. */
function rowOf({ grantId, codeHash, allowed, tokens }: Exchange) {
  const { binding } = allowed
  return {
    grant_id: grantId,
    code_hash: toBytea(codeHash),
    client_id: binding.clientId,
    user_id: allowed.userId,
    user_generation: allowed.userGeneration,
    client_generation: allowed.clientGeneration,
    authorization_generation: allowed.authorizationGeneration,
    scope: allowed.scope,
    newest_scope: allowed.newestScope,
    audience: binding.audience,
    redirect_uri: binding.redirectUri,
    code_challenge: binding.codeChallenge,
    issued_at: tokens.issuedAt,
    access_hash: toBytea(tokens.accessToken.hash),
    access_expires: tokens.accessToken.expiresAt,
    refresh_hash: tokens.refreshToken && toBytea(tokens.refreshToken.hash),
    refresh_expires: tokens.refreshToken?.expiresAt,
    refreshable_until: tokens.refreshableUntil,
    dpop_jkt: binding.dpopJkt,
    access_jkt: tokens.keys?.accessToken,
    refresh_jkt: tokens.keys?.refreshToken,
    authenticated_at: allowed.authenticatedAt === undefined ? undefined : new Date(allowed.authenticatedAt),
    requires_key: tokens.requiresKey,
    ends_at: allowed.endsAt === undefined ? undefined : new Date(allowed.endsAt),
    authorization_details: allowed.authorizationDetails
  }
}

/** A statement that failed within this time is sent once more. */
const SEND_AGAIN_WITHIN_MS = 1_000
/** Time limit for all attempts of one exchange. */
const TOTAL_MS = 2_500

/** `scope` is text, because the driver makes much garbage of an array (npm run bench:gates). */
type Stored = { grant_id: string; scope: string; ended: string[] | null }

/** Sends the statement again if its response is lost; grants that the first attempt stored are not stored twice. */
async function storeOnce(
  database: Database,
  { table, mostGrants }: { table: string; mostGrants: number | null },
  batch: readonly Exchange[]
): Promise<Stored[]> {
  const statement = storeExchanges(table, { exchanges: JSON.stringify(batch.map(rowOf)), mostGrants })
  const began = performance.now()
  try {
    return await database.query<Stored>({ ...statement, withinMs: TOTAL_MS })
  } catch (error) {
    const passed = performance.now() - began
    if (!(error instanceof StoreUnavailable) || passed > SEND_AGAIN_WITHIN_MS) throw error
    const withinMs = (TOTAL_MS - passed) / 2
    const rows = await database.query<Stored>({ ...statement, withinMs })
    return rows.length === batch.length ? rows : [...rows, ...(await findStored(database, batch, withinMs))]
  }
}

async function findStored(database: Database, batch: readonly Exchange[], withinMs: number): Promise<Stored[]> {
  return database.query<Stored>({
    name: 'find_stored_exchanges',
    text: `select grant_id, array_to_string(scope, ' ') as scope, null as ended
      from grants where grant_id = any($1::uuid[]) and redeemed_at is not null`,
    values: [batch.map(({ grantId }) => grantId)],
    withinMs
  })
}
