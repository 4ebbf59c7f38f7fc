import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from '../../src/storage/access-token-buckets.js'
import { createGrantStore, type FirstTokens, type GrantStore } from '../../src/storage/grants.js'
import { createMigratedDatabase } from './migrated-database.js'
import { newDigest, storeGrant } from './stored-grant.js'
import { HOUR } from './token-tables.js'

/** The beginning of this hour: what ends half an hour later ends in this one, and an hour later in the next. */
export const now = new Date(Math.floor(Date.now() / HOUR) * HOUR)
export const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)

export const tokens = (expiresAt = later(HOUR / 2), tokenId: string = randomUUID()): FirstTokens => ({
  accessToken: { digest: newDigest(), tokenId, expiresAt },
  refreshToken: { digest: newDigest(), expiresAt: later(HOUR) },
  refreshableUntil: later(HOUR)
})

/** A database with a user and a client, whose codes are redeemed. */
export async function prepareRedemptions() {
  const opened = await createMigratedDatabase()
  const owner = await storeGrant(opened.database, now)
  const sent: string[] = []

  return {
    opened,
    owner,
    /** The names of the statements that the process which was started last has sent, without their tables. */
    sent,

    /** The store of a process that has started; `wrap` comes between it and its database. */
    async startGrants(wrap = (database: Database): Database => database): Promise<GrantStore> {
      const wrapped = wrap(opened.database)
      const database: Database = {
        ...wrapped,
        query(statement) {
          sent.push(statement.name.replace(/_in_.*/, ''))
          return wrapped.query(statement)
        }
      }
      const buckets = createAccessTokenBuckets(database)
      await buckets.keep(now, 1_800)
      sent.length = 0
      return createGrantStore(database, buckets)
    },

    async openGrants(count: number) {
      const all = Array.from({ length: count }, () => ({ grantId: randomUUID(), codeDigest: newDigest() }))
      await opened.run(
        `insert into grants (grant_id, code_hash, client_id, user_id, scope, audience, redirect_uri, user_generation,
            client_generation, created_at, expires_at)
          select *, $3, $4, '{files.read}', 'https://files.example', 'https://app.example/callback', 0, 0, now(), $5
          from unnest($1::uuid[], $2::bytea[])`,
        [
          all.map(({ grantId }) => grantId),
          all.map(({ codeDigest }) => codeDigest),
          owner.clientId,
          owner.userId,
          later(HOUR)
        ]
      )
      return all
    },

    async tokensOf(opens: readonly { grantId: string }[]) {
      const text = `select (select count(*)::integer from access_tokens where grant_id = any ($1)) as access,
        (select count(*)::integer from refresh_tokens where grant_id = any ($1)) as refresh`
      return (await opened.run(text, [opens.map(({ grantId }) => grantId)]))[0]
    }
  }
}

export const WON = { scope: ['files.read'], userId: expect.any(String) }
