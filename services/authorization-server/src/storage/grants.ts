import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from './access-token-buckets.js'
import { createGrantOpening } from './open-grant.js'
import { createRedemptions, type FirstTokens, type Redeemed } from './redemptions.js'

export type { FirstTokens }

/** A grant as the look-up of its code finds it. */
export type RedeemedGrant = {
  grantId: string
  clientId: string
  redirectUri: string
  codeChallenge: string | undefined
  audience: string
  redeemed: boolean
}

/** @param on hears how many share each statement */
export function createGrantStore(
  database: Database,
  buckets = createAccessTokenBuckets(database),
  on: { opening?: (size: number) => void; redemption?: (size: number) => void } = {}
) {
  const redeem = createRedemptions(database, buckets, on.redemption)
  return {
    open: createGrantOpening(database, on.opening),

    /**
     * Redeems a code and stores its tokens in one statement, which those who come together share. Whoever comes second
     * finds `redeemed_at` set and gets nothing, whatever Redis says. It does not ask whether the grant is alive: a replay
     * may have ended it already, and then these tokens are born dead, for introspection looks at the grant.
     * @returns what the grant covers and whose it is, or undefined when the code had been redeemed before
     */
    async redeem(codeDigest: TokenDigest, tokens: FirstTokens, now: Date): Promise<Redeemed> {
      return redeem({ codeDigest, tokens, now })
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
