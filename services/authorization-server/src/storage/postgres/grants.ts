import type { CodeBinding, TokenHash } from '@valetkey/oauth-protocol'
import { type Database, defineStatement } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from './access-token-buckets.js'
import { createExchanges, type ExchangeOptions } from './exchanges.js'

/** A grant, found by its code. */
type ExchangedGrant = { grantId: string; userId: string; binding: CodeBinding }

export function createGrantStore(
  database: Database,
  buckets = createAccessTokenBuckets(database),
  options: ExchangeOptions = {}
) {
  return {
    /** Creates the grant and its first tokens in one statement. */
    storeExchange: createExchanges(database, buckets, options),
    ...findGrants(database),
    ...endGrants(database)
  }
}

export type GrantStore = ReturnType<typeof createGrantStore>

function findGrants(database: Database) {
  return {
    /** The grant of this code; undefined if no tokens were issued for the code. */
    async findByCode(codeHash: TokenHash): Promise<ExchangedGrant | undefined> {
      const rows = await database.query<{
        grant_id: string
        client_id: string
        user_id: string
        redirect_uri: string
        code_challenge: string | null
        audience: string
        dpop_jkt: string | null
      }>({
        name: 'find_grant_by_code',
        text: `select grant_id, client_id, user_id, redirect_uri, code_challenge, audience, dpop_jkt
          from grants where code_hash = $1 and redeemed_at is not null`,
        values: [codeHash]
      })
      return rows.map((row) => ({
        grantId: row.grant_id,
        userId: row.user_id,
        binding: {
          clientId: row.client_id,
          redirectUri: row.redirect_uri,
          codeChallenge: row.code_challenge ?? undefined,
          audience: row.audience,
          dpopJkt: row.dpop_jkt ?? undefined
        }
      }))[0]
    }
  }
}

const discardGrants = defineStatement(
  'discard_undelivered_grants',
  'update grants set redeemed_at = null where code_hash = :codeHash and grant_id = any(:grantIds::uuid[])'
)

function endGrants(database: Database) {
  return {
    /**
     * Leaves the row of an undelivered exchange to the next exchange of the code: it was committed although the response was
     * 503, so no client has its tokens. The row is not deleted, because an operator may have ended it meanwhile, which must
     * apply to the next exchange as well.
     */
    async discardUndelivered(codeHash: TokenHash, grantIds: readonly string[]): Promise<void> {
      await database.query(discardGrants({ codeHash, grantIds }))
    },

    /** Ends the grant of a code that was used twice, unless the exchange that stored it is discarded. */
    async endReplayed(codeHash: TokenHash): Promise<void> {
      await database.query({
        name: 'end_replayed_grant',
        text: `update grants set ended_at = now()
          where code_hash = $1 and redeemed_at is not null and ended_at is null`,
        values: [codeHash]
      })
    },

    /** Ends every token of the grant. @returns its user; undefined if the grant had ended before */
    async end(grantId: string): Promise<{ userId: string } | undefined> {
      const rows = await database.query<{ user_id: string }>({
        name: 'end_grant',
        text: 'update grants set ended_at = now() where grant_id = $1 and ended_at is null returning user_id',
        values: [grantId]
      })
      return rows.map((row) => ({ userId: row.user_id }))[0]
    }
  }
}
