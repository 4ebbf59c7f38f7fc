import type { ActiveAccessToken } from '@valetkey/oauth-protocol'
import { batchedByKey, type Database } from '@valetkey/service-kit'
import { type AccessTokenKey, createAccessTokenBuckets } from './access-token-buckets.js'
import { AUTHORIZED } from './authorization-generation.js'
import { chosenOf } from './chosen.js'
import { remainingScope } from './remaining-scope.js'
import { defineTableStatement, TABLE } from './table-statement.js'

type Lookup = { token: AccessTokenKey; table: string }

type TokenRow = {
  number: number
  token_id: string
  grant_id: string
  client_id: string
  user_id: string
  scope: string
  audience: string
  issued_at: number
  expires_at: number
  authenticated_at: number | null
  last_use_is_old: boolean
  jkt: string | null
  authorization_details: readonly { type: string; identifier: string }[] | null
}

/** An active token, and whether the stored last use of its grant is missing or more than an hour old, so that it is due to be written. */
export type FoundAccessToken = ActiveAccessToken & { lastUseIsOld: boolean }

/** Concurrent introspections share a statement if their tokens are in the same table. */
export function createIntrospectionStore(
  database: Database,
  buckets = createAccessTokenBuckets(database),
  onBatch?: (size: number) => void
) {
  async function findAll(lookups: readonly Lookup[], table: string): Promise<(FoundAccessToken | undefined)[]> {
    const hashes = lookups.map(({ token }) => token.hash)
    const rows = await buckets.rowsOf(table, (name) => database.query<TokenRow>(findTokens(name, { hashes })))
    const found: (FoundAccessToken | undefined)[] = lookups.map(() => undefined)
    for (const row of rows) found[row.number - 1] = toAccessToken(row)
    return found
  }

  const findOne = batchedByKey(({ table }: Lookup) => table, findAll, { onBatch })
  return {
    async find(token: AccessTokenKey): Promise<FoundAccessToken | undefined> {
      const table = await buckets.find(token.bucket)
      return table === undefined ? undefined : findOne({ token, table })
    }
  }
}

export type IntrospectionStore = ReturnType<typeof createIntrospectionStore>

/**
 * Finds active tokens: not expired by Postgres's clock, not revoked, not longer than the end that the user chose, grant not ended,
 * the generations of user, client and authorization unchanged since Allow, and a scope left. The joins exclude deleted users and
 * clients.
 */
const findTokens = defineTableStatement(
  'find_for_introspection',
  `select input.number::integer, t.token_id, t.grant_id, g.client_id, g.user_id,
    array_to_string(remaining.scope, ' ') as scope, g.audience,
    date_part('epoch', t.issued_at) * 1000 as issued_at, date_part('epoch', t.expires_at) * 1000 as expires_at,
    date_part('epoch', g.authenticated_at) * 1000 as authenticated_at,
    coalesce(g.last_used_at < now() - interval '1 hour', true) as last_use_is_old, t.jkt,
    ${chosenOf('g')} as authorization_details
  from unnest(:hashes::bytea[]) with ordinality as input (token_hash, number)
  join ${TABLE} t on t.token_hash = input.token_hash
  join grants g on g.grant_id = t.grant_id and g.ended_at is null
  join users u on u.user_id = g.user_id and u.generation = t.user_generation
  join clients c on c.client_id = g.client_id and c.generation = t.client_generation
  left join authorizations n on n.user_id = g.user_id and n.client_id = g.client_id
  ${remainingScope('g', 't.scope')}
  where remaining.scope is not null and t.revoked_at is null and t.expires_at > now()
    and (g.ends_at is null or t.expires_at <= g.ends_at)
    and ${AUTHORIZED}`
)

function toAccessToken(row: TokenRow): FoundAccessToken {
  return {
    tokenId: row.token_id,
    grantId: row.grant_id,
    clientId: row.client_id,
    userId: row.user_id,
    scope: row.scope.split(' '),
    audience: row.audience,
    issuedAt: new Date(Math.round(row.issued_at)),
    expiresAt: new Date(Math.round(row.expires_at)),
    ...(row.authenticated_at !== null && { authenticatedAt: new Date(Math.round(row.authenticated_at)) }),
    lastUseIsOld: row.last_use_is_old,
    jkt: row.jkt ?? undefined,
    ...(row.authorization_details !== null && { authorizationDetails: row.authorization_details })
  }
}
