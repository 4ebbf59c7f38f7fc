import type { ActiveAccessToken, TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, gatherCalls } from '@valetkey/service-kit'

/** What one introspection looks for; whoever asks has proved itself before. */
export type IntrospectionLookup = { tokenDigest: TokenDigest; now: Date }

type TokenRow = {
  token_id: string
  grant_id: string
  client_id: string
  user_id: string
  scope: string[]
  audience: string
  issued_at: Date
  expires_at: Date
}

/**
 * A token that is alive: neither expired nor revoked, its grant not ended, and the generations of its user and client still
 * those of the day it was allowed. A deleted user or client is missing from the join.
 */
const LIVE_TOKEN = `select t.token_id, t.grant_id, g.client_id, g.user_id, t.scope, g.audience, t.issued_at, t.expires_at
  from access_tokens t
  join grants g on g.grant_id = t.grant_id and g.ended_at is null
  join users u on u.user_id = g.user_id and u.generation = t.user_generation
  join clients c on c.client_id = g.client_id and c.generation = t.client_generation
  where t.token_hash = asked.token_hash and t.expires_at > asked.now and t.revoked_at is null`

/** One look for all introspections that come together. */
export function createIntrospectionStore(database: Database) {
  const find = gatherCalls(async (asked: readonly IntrospectionLookup[]) => {
    const rows = await database.query<TokenRow & { number: string }>({
      name: 'find_for_introspection',
      text: `select asked.number, t.*
        from unnest($1::bytea[], $2::timestamptz[]) with ordinality as asked (token_hash, now, number)
        join lateral (${LIVE_TOKEN}) t on true`,
      values: [asked.map(({ tokenDigest }) => tokenDigest), asked.map(({ now }) => now.toISOString())]
    })
    const found: (ActiveAccessToken | undefined)[] = asked.map(() => undefined)
    for (const row of rows) found[Number(row.number) - 1] = toAccessToken(row)
    return found
  })
  return { find }
}

export type IntrospectionStore = ReturnType<typeof createIntrospectionStore>

function toAccessToken(row: TokenRow): ActiveAccessToken {
  return {
    tokenId: row.token_id,
    grantId: row.grant_id,
    clientId: row.client_id,
    userId: row.user_id,
    scope: row.scope,
    audience: row.audience,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at
  }
}
