import { expiryBucket, type TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, gatherWrites, StoreUnavailable } from '@valetkey/service-kit'
import type { AccessTokenBuckets } from './access-token-buckets.js'
import { groupBy } from './group-by.js'

/** The first tokens of a grant. They hold no more than the grant does. */
export type FirstTokens = {
  accessToken: { digest: TokenDigest; tokenId: string; expiresAt: Date }
  refreshToken: { digest: TokenDigest; expiresAt: Date } | undefined
  /** The absolute end of refreshing; undefined without a refresh token. */
  refreshableUntil: Date | undefined
}

export type Redemption = { codeDigest: TokenDigest; tokens: FirstTokens; now: Date }

/** What a grant covers and whose it is; undefined when its code had been redeemed before. */
export type Redeemed = { scope: readonly string[]; userId: string } | undefined

type Settled = Redeemed | StoreUnavailable

type RedeemedRow = { number: number; scope: string[]; user_id: string }

/** Whoever has waited longer than this for an answer that was lost is not made to wait for another. */
const RETRY_WITHIN_MS = 1_000

/** Redeems the codes of those who come together by one statement for each hour in which their access tokens end. */
export function createRedemptions(
  database: Database,
  buckets: AccessTokenBuckets,
  onBatch?: (size: number) => void
): (redemption: Redemption) => Promise<Redeemed> {
  /** An outage in one hour is that of its own exchanges: those of another have their tokens, and must be told so. */
  async function redeemAll(batch: readonly Redemption[]): Promise<readonly Settled[]> {
    const settled = new Map<Redemption, Settled>()
    const statements = [...groupBy(batch, bucketOf)].map(async ([bucket, together]) => {
      const answers = await redeemOrRetry(bucket, together).catch((error: unknown) => {
        if (error instanceof StoreUnavailable) return error
        throw error
      })
      for (const [index, redemption] of together.entries()) {
        settled.set(redemption, answers instanceof StoreUnavailable ? answers : answers[index])
      }
    })
    await Promise.all(statements)
    return batch.map((redemption) => settled.get(redemption))
  }

  async function redeemOrRetry(bucket: number, batch: readonly Redemption[]): Promise<Redeemed[]> {
    const began = performance.now()
    try {
      return await redeemIn(bucket, batch)
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() - began > RETRY_WITHIN_MS) throw error
      // Perhaps it was committed and only the answer was lost: then the second time finds its own tokens.
      return redeemIn(bucket, batch)
    }
  }

  async function redeemIn(bucket: number, batch: readonly Redemption[]): Promise<Redeemed[]> {
    return buckets.writeInto(bucket, async (table) => {
      const redeemed: Redeemed[] = batch.map(() => undefined)
      const rows = await database.query<RedeemedRow>({ ...redeemInto(table), values: columnsOf(batch) })
      for (const row of rows) redeemed[row.number - 1] = { scope: row.scope, userId: row.user_id }
      if (rows.length < batch.length) await findOwn(table, batch, redeemed)
      return redeemed
    })
  }

  /** A code that was redeemed before, but with these very tokens, was redeemed by the same call. */
  async function findOwn(table: string, batch: readonly Redemption[], redeemed: Redeemed[]): Promise<void> {
    const lost = batch.map(({ tokens }, index) => (redeemed[index] ? null : tokens.accessToken.digest))
    const rows = await database.query<RedeemedRow>({ ...findOwnIn(table), values: [lost] })
    for (const row of rows) redeemed[row.number - 1] = { scope: row.scope, userId: row.user_id }
  }

  const redeem = gatherWrites(redeemAll, onBatch)
  return async (redemption) => {
    const settled = await redeem(redemption)
    if (settled instanceof StoreUnavailable) throw settled
    return settled
  }
}

const bucketOf = ({ tokens }: Redemption) => expiryBucket(tokens.accessToken.expiresAt)

/**
 * Grants are locked in the order of their ids, as by everybody who locks several, so that no two wait for each other. Of two
 * that bring the same code one finds `redeemed_at` set, whether they share the statement or not.
 */
function redeemInto(table: string): { name: string; text: string } {
  return {
    name: `redeem_grant_in_${table}`,
    text: `with held as (
        select g.grant_id, asked.*
        from unnest($1::bytea[], $2::timestamptz[], $3::bytea[], $4::uuid[], $5::timestamptz[], $6::bytea[],
            $7::timestamptz[], $8::timestamptz[])
          with ordinality as asked (code_hash, now, access_hash, token_id, access_expires, refresh_hash, refresh_expires,
            refreshable_until, number)
        join grants g on g.code_hash = asked.code_hash and g.redeemed_at is null
        order by g.grant_id for update of g
      ), redeemed as (
        update grants g set redeemed_at = held.now, last_used_at = held.now, refreshable_until = held.refreshable_until,
          expires_at = greatest(held.access_expires, held.refresh_expires)
        from held where g.grant_id = held.grant_id and g.redeemed_at is null
        returning g.user_id, g.scope, g.user_generation, g.client_generation, held.*
      ), access as (
        insert into ${table} (token_hash, token_id, grant_id, scope, user_generation, client_generation, issued_at,
          expires_at)
        select access_hash, token_id, grant_id, scope, user_generation, client_generation, now, access_expires
        from redeemed
      ), refresh as (
        insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at)
        select refresh_hash, grant_id, user_generation, client_generation, now, refresh_expires
        from redeemed where refresh_hash is not null
      )
      select number::integer, scope, user_id from redeemed`
  }
}

/** Also in `only access_tokens`, where the first time may have written when the table could not be made. */
function findOwnIn(table: string): { name: string; text: string } {
  return {
    name: `find_own_redemptions_in_${table}`,
    text: `select asked.number::integer, t.scope, g.user_id
      from unnest($1::bytea[]) with ordinality as asked (token_hash, number)
      cross join lateral (
        select grant_id, scope from ${table} where token_hash = asked.token_hash union all
        select grant_id, scope from only access_tokens where token_hash = asked.token_hash) t
      join grants g on g.grant_id = t.grant_id`
  }
}

function columnsOf(batch: readonly Redemption[]): unknown[] {
  const tokens = batch.map((redemption) => redemption.tokens)
  return [
    batch.map(({ codeDigest }) => codeDigest),
    batch.map(({ now }) => now.toISOString()),
    tokens.map(({ accessToken }) => accessToken.digest),
    tokens.map(({ accessToken }) => accessToken.tokenId),
    tokens.map(({ accessToken }) => accessToken.expiresAt.toISOString()),
    tokens.map(({ refreshToken }) => refreshToken?.digest ?? null),
    tokens.map(({ refreshToken }) => refreshToken?.expiresAt.toISOString() ?? null),
    tokens.map(({ refreshableUntil }) => refreshableUntil?.toISOString() ?? null)
  ]
}
