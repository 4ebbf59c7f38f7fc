import type { ActiveAccessToken } from '@valetkey/oauth-protocol'
import { type Database, gatherCalls } from '@valetkey/service-kit'
import { type AccessTokenKey, createAccessTokenBuckets, isOver } from './access-token-buckets.js'
import { groupBy } from './group-by.js'

/** What one introspection looks for; whoever asks has proved itself before. */
export type IntrospectionLookup = { token: AccessTokenKey; now: Date }

type Placed = IntrospectionLookup & { table: string | undefined }

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
}

/**
 * One look for all introspections that come together and whose tokens lie in the same table.
 * @param onBatch hears how many share each look
 */
export function createIntrospectionStore(
  database: Database,
  buckets = createAccessTokenBuckets(database),
  onBatch?: (size: number) => void
) {
  async function findAll(asked: readonly Placed[]): Promise<(ActiveAccessToken | undefined)[]> {
    const found = new Map<Placed, ActiveAccessToken>()
    const looks = [...groupBy(asked, ({ table }) => table)].map(async ([table, together]) => {
      for (const row of await lookIn(table, together)) {
        const one = together[row.number - 1]
        if (one !== undefined && row.expires_at > one.now.getTime()) found.set(one, toAccessToken(row))
      }
    })
    await Promise.all(looks)
    return asked.map((one) => found.get(one))
  }

  async function lookIn(table: string | undefined, asked: readonly Placed[]): Promise<TokenRow[]> {
    const values = [asked.map(({ token }) => token.digest)]
    return buckets.orWithout(table, (place) => database.query<TokenRow>({ ...findIn(place), values }))
  }

  const gathered = gatherCalls(findAll, undefined, onBatch)
  return {
    async find(lookup: IntrospectionLookup): Promise<ActiveAccessToken | undefined> {
      const { bucket } = lookup.token
      // An hour that is over needs no look.
      if (isOver(bucket, lookup.now)) return undefined
      return gathered({ ...lookup, table: buckets.tableOf(bucket) ?? (await buckets.find(bucket)) })
    }
  }
}

export type IntrospectionStore = ReturnType<typeof createIntrospectionStore>

const COLUMNS = 'token_id, grant_id, scope, user_generation, client_generation, issued_at, expires_at, revoked_at'

/**
 * A token that is alive: not revoked, its grant not ended, and the generations of its user and client still those of the
 * day it was allowed. A deleted user or client is missing from the join. Whether it has expired is judged by who asked.
 * `only access_tokens` has what a release wrote that knew no buckets.
 */
function findIn(table: string | undefined): { name: string; text: string } {
  const ownTable = table && `select ${COLUMNS} from ${table} where token_hash = asked.token_hash union all`
  return {
    name: `find_for_introspection_in_${table}`,
    text: `select asked.number::integer, t.token_id, t.grant_id, g.client_id, g.user_id,
        array_to_string(t.scope, ' ') as scope, g.audience,
        date_part('epoch', t.issued_at) * 1000 as issued_at, date_part('epoch', t.expires_at) * 1000 as expires_at
      from unnest($1::bytea[]) with ordinality as asked (token_hash, number)
      cross join lateral (${ownTable ?? ''}
        select ${COLUMNS} from only access_tokens where token_hash = asked.token_hash) t
      join grants g on g.grant_id = t.grant_id and g.ended_at is null
      join users u on u.user_id = g.user_id and u.generation = t.user_generation
      join clients c on c.client_id = g.client_id and c.generation = t.client_generation
      where t.revoked_at is null`
  }
}

function toAccessToken(row: TokenRow): ActiveAccessToken {
  return {
    tokenId: row.token_id,
    grantId: row.grant_id,
    clientId: row.client_id,
    userId: row.user_id,
    scope: row.scope === '' ? [] : row.scope.split(' '),
    audience: row.audience,
    issuedAt: new Date(Math.round(row.issued_at)),
    expiresAt: new Date(Math.round(row.expires_at))
  }
}
