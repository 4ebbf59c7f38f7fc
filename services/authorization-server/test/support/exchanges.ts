import { randomUUID } from 'node:crypto'
import { type CodeBinding, expiryBucket } from '@valetkey/oauth-protocol'
import type { Database } from '@valetkey/service-kit'
import { createAccessTokenBuckets } from '../../src/storage/postgres/access-token-buckets.js'
import type { Exchange, FirstTokens } from '../../src/storage/postgres/exchanges.js'
import { createGrantStore, type GrantStore } from '../../src/storage/postgres/grants.js'
import type { AllowedGrant } from '../../src/storage/redis/code-record.js'
import { createMigratedDatabase } from './migrated-database.js'
import { atTime } from './postgres-clock.js'
import { NEWEST_SCOPE, newHash, storeGrant } from './stored-grant.js'
import { HOUR } from './token-tables.js'

/** The start of the current hour: half an hour later is in this bucket, and an hour later in the next. */
export const now = new Date(Math.floor(Date.now() / HOUR) * HOUR)
export const later = (milliseconds: number) => new Date(now.getTime() + milliseconds)

/** The scope of every exchange, in another order than the client has it. */
const SCOPE = ['files.read:images', 'files.read']

/** The outcome of an exchange that stored it. */
export const STORED = { scope: SCOPE, ended: [] }

export type ExchangeChange = {
  grantId?: string
  codeHash?: Exchange['codeHash']
  allowed?: Partial<AllowedGrant>
  binding?: Partial<CodeBinding>
  tokens?: Partial<FirstTokens>
}

type ExchangeOwner = { clientId: string; clientGeneration?: number; userId: string }

/** The exchange of a new code. */
export function exchangeOf(owner: ExchangeOwner, change: ExchangeChange = {}): Exchange {
  const binding: CodeBinding = {
    clientId: owner.clientId,
    redirectUri: 'https://app.example/callback',
    codeChallenge: 'challenge',
    audience: 'https://files.example',
    ...change.binding
  }
  return {
    grantId: change.grantId ?? randomUUID(),
    codeHash: change.codeHash ?? newHash(),
    allowed: {
      userId: owner.userId,
      userGeneration: 0,
      clientGeneration: owner.clientGeneration ?? 0,
      authorizationGeneration: 0,
      scope: SCOPE,
      newestScope: NEWEST_SCOPE,
      ...change.allowed,
      binding
    },
    tokens: {
      issuedAt: now,
      accessToken: endingAt(later(HOUR / 2)).tokens.accessToken,
      refreshToken: { hash: newHash(), expiresAt: later(HOUR) },
      refreshableUntil: later(HOUR),
      ...change.tokens
    }
  }
}

/** Another exchange of the same code. */
export const again = ({ codeHash, allowed }: Exchange): Exchange => ({
  ...exchangeOf({ ...allowed, clientId: allowed.binding.clientId }),
  codeHash,
  allowed
})

/** The exchange with another expiry of the access token. */
export const endingAt = (expiresAt: Date) => ({
  tokens: { accessToken: { hash: newHash(), bucket: expiryBucket(expiresAt), expiresAt } }
})

/** A database with a user and a client. */
export async function prepareExchanges() {
  const opened = await createMigratedDatabase()
  const owner = await storeGrant(opened.database, now)
  const sent: string[] = []

  return {
    opened,
    owner,
    /** The names of the statements of the process that was started last, without their tables. */
    sent,

    /** The store of a new process; `wrap` can replace its database. Without a factor, no grant ends because there are too many. */
    async startGrants(wrap = (database: Database): Database => database, limitsFactor = 1_000): Promise<GrantStore> {
      const wrapped = wrap(atTime(opened.database, now))
      const database: Database = {
        ...wrapped,
        query(statement) {
          sent.push(statement.name.replace(/_in_.*/, ''))
          return wrapped.query(statement)
        }
      }
      const buckets = createAccessTokenBuckets(database)
      await buckets.keep(1_800)
      sent.length = 0
      return createGrantStore(database, buckets, { limitsFactor })
    },

    newExchanges: (count: number, change?: (index: number) => ExchangeChange): Exchange[] =>
      Array.from({ length: count }, (_, index) => exchangeOf(owner, change?.(index))),

    /** The number of tokens of the grants of these exchanges. */
    async tokensOf(exchanges: readonly { codeHash: Exchange['codeHash'] }[]) {
      const text = `with of_codes as (select grant_id from grants where code_hash = any ($1))
        select (select count(*)::integer from access_tokens join of_codes using (grant_id)) as access,
          (select count(*)::integer from refresh_tokens join of_codes using (grant_id)) as refresh`
      return (await opened.run(text, [exchanges.map(({ codeHash }) => codeHash)]))[0]
    }
  }
}
