import type { ActiveAccessToken, TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, gatherCalls } from '@valetkey/service-kit'
import type { ResourceServer } from './resource-servers.js'

/** What one introspection asks: who the caller says it is, and which token it means, where that can be one at all. */
export type IntrospectionLookup = {
  clientId: string
  secretDigest: TokenDigest
  tokenDigest: TokenDigest | undefined
  now: Date
}

export type IntrospectionFinding = {
  resourceServer: ResourceServer
  secretHash: Buffer
  /** Looked for only with the caller's right secret. */
  accessToken: ActiveAccessToken | undefined
}

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

type Row = { number: string; caller_id: string; name: string; caller_audience: string; secret_hash: Buffer } & (
  | TokenRow
  | { token_id: null }
)

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

/** The caller and the token by one look, which introspections that come together share. */
export function createIntrospectionStore(database: Database) {
  const find = gatherCalls(async (asked: readonly IntrospectionLookup[]) => {
    const rows = await database.query<Row>({
      name: 'find_for_introspection',
      // The digest of a wrong secret finds no token, so that what a stranger is answered takes no longer for a live one.
      // Whether the secret is right is decided by who asked, in constant time.
      text: `select asked.number, s.client_id as caller_id, s.name, s.audience as caller_audience, s.secret_hash, t.*
        from unnest($1::text[], $2::bytea[], $3::bytea[], $4::timestamptz[])
          with ordinality as asked (client_id, secret_hash, token_hash, now, number)
        join resource_servers s on s.client_id = asked.client_id
        left join lateral (${LIVE_TOKEN}) t on s.secret_hash = asked.secret_hash`,
      values: [
        asked.map(({ clientId }) => clientId),
        asked.map(({ secretDigest }) => secretDigest),
        asked.map(({ tokenDigest }) => tokenDigest ?? null),
        asked.map(({ now }) => now.toISOString())
      ]
    })
    const findings: (IntrospectionFinding | undefined)[] = asked.map(() => undefined)
    for (const row of rows) findings[Number(row.number) - 1] = toFinding(row)
    return findings
  })
  return { find }
}

export type IntrospectionStore = ReturnType<typeof createIntrospectionStore>

function toFinding(row: Row): IntrospectionFinding {
  return {
    resourceServer: { clientId: row.caller_id, name: row.name, audience: row.caller_audience },
    secretHash: row.secret_hash,
    accessToken: row.token_id === null ? undefined : toAccessToken(row)
  }
}

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
