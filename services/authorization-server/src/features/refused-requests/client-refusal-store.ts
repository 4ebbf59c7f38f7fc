import { type Database, defineStatement, LONG_STATEMENT_MS } from '@valetkey/service-kit'

export type RefusedEndpoint = 'authorize' | 'par' | 'token' | 'revoke' | 'leaked'

/** A refused request of a client, for the developer of the app. */
export type ClientRefusal = {
  clientId: string
  endpoint: RefusedEndpoint
  /** OAuth error code. */
  error: string
  reason: string
  /** The description in the response; undefined for an error page. */
  description: string | undefined
  requestId: string
  /** The redirect URI that was sent, without values of its query. */
  redirectUri: string | undefined
  /** Whether the client was authenticated, by its secret or a key. */
  authenticated: boolean
}

/** @property recordedAt on the monotonic clock of this process, in milliseconds */
export type NewClientRefusal = ClientRefusal & { recordedAt: number }
export type StoredClientRefusal = ClientRefusal & { occurredAt: Date }

/** Kept for a client: of requests with its secret or key, and of all others. So requests that anyone can send push out no others. */
const MOST_OF_EACH = 50
/** Kept of these for one reason, so that one repeated mistake pushes out no others. */
const MOST_FOR_A_REASON = 10
export const MOST_REFUSALS = 2 * MOST_OF_EACH
const REFUSALS_KEPT_DAYS = 7
const DELETED_AT_ONCE = 1_000

type Row = {
  client_id: string
  occurred_at: Date
  endpoint: RefusedEndpoint
  error: string
  reason: string
  description: string | null
  request_id: string
  redirect_uri: string | null
  authenticated: boolean
}

export function createClientRefusalStore(database: Database) {
  return {
    /** Appends refusals of existing clients, and deletes the oldest of each. Others are ignored. */
    async append(refusals: readonly NewClientRefusal[]): Promise<void> {
      await insert(refusals, database)
      await deleteSurplus([...new Set(refusals.map(({ clientId }) => clientId))], database)
    },

    /** Newest first. */
    async list(clientId: string, limit: number): Promise<StoredClientRefusal[]> {
      const rows = await database.query<Row>({
        name: 'list_client_refusals',
        text: `select client_id, occurred_at, endpoint, error, reason, description, request_id, redirect_uri, authenticated
          from client_refusals
          where client_id = $1 and occurred_at > now() - interval '${REFUSALS_KEPT_DAYS} days'
          order by refusal_id desc limit $2`,
        values: [clientId, limit]
      })
      return rows.map(toRefusal)
    }
  }
}

export type ClientRefusalStore = ReturnType<typeof createClientRefusalStore>

/** The lock makes a deletion of the client wait, so that no row refers to a client that is gone. */
const appendRefusals = defineStatement(
  'append_client_refusals',
  `with existing as (
    select client_id from clients where client_id = any(:clientIds::text[]) order by client_id for key share)
  insert into client_refusals
    (client_id, occurred_at, endpoint, error, reason, description, request_id, redirect_uri, authenticated)
  select g.client_id, now() - make_interval(secs => g.waited_ms / 1000), g.endpoint, g.error, g.reason, g.description,
    g.request_id, g.redirect_uri, g.authenticated
  from unnest(:clientIds::text[], :endpoints::text[], :errors::text[], :reasons::text[], :descriptions::text[],
      :requestIds::text[], :redirectUris::text[], :authenticated::boolean[], :waitedMs::double precision[])
    as g (client_id, endpoint, error, reason, description, request_id, redirect_uri, authenticated, waited_ms)
  join existing using (client_id)
  order by g.waited_ms desc`
)

async function insert(refusals: readonly NewClientRefusal[], database: Database): Promise<void> {
  const statement = appendRefusals({
    clientIds: refusals.map(({ clientId }) => clientId),
    endpoints: refusals.map(({ endpoint }) => endpoint),
    errors: refusals.map(({ error }) => error),
    reasons: refusals.map(({ reason }) => reason),
    descriptions: refusals.map(({ description }) => description),
    requestIds: refusals.map(({ requestId }) => requestId),
    redirectUris: refusals.map(({ redirectUri }) => redirectUri),
    authenticated: refusals.map(({ authenticated }) => authenticated),
    waitedMs: refusals.map(({ recordedAt }) => performance.now() - recordedAt)
  })
  await database.query({ ...statement, withinMs: LONG_STATEMENT_MS })
}

/** Deletes expired rows in a batch that holds locks only for a short time. @returns whether the batch was full */
export async function deleteExpiredRefusals(database: Database): Promise<boolean> {
  const rows = await database.query({
    name: 'delete_expired_client_refusals',
    text: `delete from client_refusals where ctid = any (array(
        select ctid from client_refusals where occurred_at <= now() - interval '${REFUSALS_KEPT_DAYS} days'
        limit ${DELETED_AT_ONCE} for update skip locked
      )) returning 1 as deleted`,
    values: [],
    withinMs: LONG_STATEMENT_MS
  })
  return rows.length === DELETED_AT_ONCE
}

/** Rows that another process is deleting are skipped. */
const deleteSurplusRefusals = defineStatement(
  'delete_surplus_client_refusals',
  `with of_reasons as (
    select refusal_id, client_id, authenticated,
      row_number() over (partition by client_id, authenticated, reason order by refusal_id desc) <= :mostForAReason as is_kept
    from client_refusals where client_id = any(:clientIds::text[])
  ), ranked as (
    select refusal_id, is_kept,
      row_number() over (partition by client_id, authenticated, is_kept order by refusal_id desc) as place
    from of_reasons
  )
  delete from client_refusals where refusal_id = any (array(
    select refusal_id from client_refusals
    where refusal_id = any (array(select refusal_id from ranked where not is_kept or place > :mostOfEach))
    for update skip locked))`
)

async function deleteSurplus(clientIds: readonly string[], database: Database): Promise<void> {
  const limits = { mostForAReason: MOST_FOR_A_REASON, mostOfEach: MOST_OF_EACH }
  await database.query({ ...deleteSurplusRefusals({ clientIds, ...limits }), withinMs: LONG_STATEMENT_MS })
}

function toRefusal(row: Row): StoredClientRefusal {
  return {
    clientId: row.client_id,
    occurredAt: row.occurred_at,
    endpoint: row.endpoint,
    error: row.error,
    reason: row.reason,
    description: row.description ?? undefined,
    requestId: row.request_id,
    redirectUri: row.redirect_uri ?? undefined,
    authenticated: row.authenticated
  }
}
