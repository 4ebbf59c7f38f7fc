import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createGrantOpening } from './open-grant.js'

/** The first tokens of a grant. They hold no more than the grant does. */
export type FirstTokens = {
  accessToken: { digest: TokenDigest; tokenId: string; expiresAt: Date }
  refreshToken: { digest: TokenDigest; expiresAt: Date } | undefined
  /** The absolute end of refreshing; undefined without a refresh token. */
  refreshableUntil: Date | undefined
}

/** A grant as the look-up of its code finds it. */
export type RedeemedGrant = {
  grantId: string
  clientId: string
  redirectUri: string
  codeChallenge: string | undefined
  audience: string
  redeemed: boolean
}

export function createGrantStore(database: Database) {
  return {
    open: createGrantOpening(database),

    /**
     * Redeems a code and stores its tokens in one statement. Whoever comes second finds `redeemed_at` set and gets
     * nothing, whatever Redis says. It does not ask whether the grant is alive: a replay may have ended it already, and
     * then these tokens are born dead, for introspection looks at the grant.
     * @returns what the grant covers and whose it is, or undefined when the code had been redeemed before
     */
    async redeem(
      codeDigest: TokenDigest,
      tokens: FirstTokens,
      now: Date
    ): Promise<{ scope: readonly string[]; userId: string } | undefined> {
      const rows = await database.query<{ scope: string[]; user_id: string }>({
        name: 'redeem_grant',
        text: `with redeemed as (
            update grants set redeemed_at = $2, last_used_at = $2, refreshable_until = $8,
              expires_at = greatest($5::timestamptz, $7::timestamptz)
            where code_hash = $1 and redeemed_at is null
            returning grant_id, user_id, scope, user_generation, client_generation
          ), access as (
            insert into access_tokens (token_hash, token_id, grant_id, scope, user_generation, client_generation,
              issued_at, expires_at)
            select $3, $4, grant_id, scope, user_generation, client_generation, $2, $5 from redeemed
          ), refresh as (
            insert into refresh_tokens (token_hash, grant_id, user_generation, client_generation, issued_at, expires_at)
            select $6, grant_id, user_generation, client_generation, $2, $7 from redeemed where $6::bytea is not null
          )
          select scope, user_id from redeemed`,
        values: [
          codeDigest,
          now,
          tokens.accessToken.digest,
          tokens.accessToken.tokenId,
          tokens.accessToken.expiresAt,
          tokens.refreshToken?.digest,
          tokens.refreshToken?.expiresAt,
          tokens.refreshableUntil
        ]
      })
      return rows.map((row) => ({ scope: row.scope, userId: row.user_id }))[0]
    },

    async findByCode(codeDigest: TokenDigest): Promise<RedeemedGrant | undefined> {
      const rows = await database.query<{
        grant_id: string
        client_id: string
        redirect_uri: string
        code_challenge: string | null
        audience: string
        redeemed: boolean
      }>({
        name: 'find_grant_by_code',
        text: `select grant_id, client_id, redirect_uri, code_challenge, audience, redeemed_at is not null as redeemed
          from grants where code_hash = $1`,
        values: [codeDigest]
      })
      return rows.map((row) => ({
        grantId: row.grant_id,
        clientId: row.client_id,
        redirectUri: row.redirect_uri,
        codeChallenge: row.code_challenge ?? undefined,
        audience: row.audience,
        redeemed: row.redeemed
      }))[0]
    },

    /**
     * Ends every token of the grant, those not yet inserted included.
     * @returns whose it was; undefined when it had ended before
     */
    async end(grantId: string, now: Date): Promise<{ userId: string } | undefined> {
      const rows = await database.query<{ user_id: string }>({
        name: 'end_grant',
        text: 'update grants set ended_at = $2 where grant_id = $1 and ended_at is null returning user_id',
        values: [grantId, now]
      })
      return rows.map((row) => ({ userId: row.user_id }))[0]
    }
  }
}

export type GrantStore = ReturnType<typeof createGrantStore>
