import type { Database } from '@valetkey/service-kit'
import type { Page } from './page.js'

/** A row of the audit table. */
export type AuditEntry = {
  /** An integer as text, because it can exceed 2^53. */
  eventId: string
  occurredAt: Date
  event: string
  requestId: string | undefined
  traceId: string | undefined
  clientId: string | undefined
  userId: string | undefined
  address: string | undefined
  details: Readonly<Record<string, unknown>>
}

/** An entry must match all given fields. */
export type AuditFilter = {
  userId?: string | undefined
  clientId?: string | undefined
  event?: string | undefined
  requestId?: string | undefined
  traceId?: string | undefined
  secretId?: string | undefined
  /** A time, or an age by Postgres's clock. */
  since?: Date | { secondsAgo: number } | undefined
}

type AuditRow = {
  event_id: string
  occurred_at: Date
  event: string
  request_id: string | null
  trace_id: string | null
  client_id: string | null
  user_id: string | null
  address: string | null
  details: Record<string, unknown>
}

const COLUMNS = 'event_id, occurred_at, event, request_id, trace_id, client_id, user_id, address, details'

/** Reads the audit table, which `audit-events.ts` and `audited.ts` write. */
export function createAuditEntryStore(database: Database) {
  return {
    /** Newest first. @param page.after id of the last event of the previous page */
    async list(filter: AuditFilter, { after, limit }: Page): Promise<AuditEntry[]> {
      const { conditions, values, name } = conditionsOf(filter, 1)
      const place = `$${values.length + 2}`
      const rows = await database.query<AuditRow>({
        name: `list_audit${name}${after === undefined ? '' : '_after'}`,
        text: `select ${COLUMNS} from audit_events where true ${conditions} ${
          after === undefined
            ? ''
            : `and (occurred_at, event_id) < (select occurred_at, event_id from audit_events where event_id = ${place}::bigint)`
        }
          order by occurred_at desc, event_id desc limit $1`,
        values: [limit, ...values, ...(after === undefined ? [] : [after])]
      })
      return rows.map(toAuditEntry)
    },

    /** Oldest first, by id: to follow new events. */
    async listFrom(filter: AuditFilter, { after, limit }: { after: string; limit: number }): Promise<AuditEntry[]> {
      const { conditions, values, name } = conditionsOf(filter, 2)
      const rows = await database.query<AuditRow>({
        name: `list_new_audit${name}`,
        text: `select ${COLUMNS} from audit_events where event_id > $2::bigint ${conditions} order by event_id limit $1`,
        values: [limit, after, ...values]
      })
      return rows.map(toAuditEntry)
    },

    /** '0' if there is no event. */
    async newestId(): Promise<string> {
      const rows = await database.query<{ newest: string }>({
        name: 'find_newest_audit_event',
        text: 'select coalesce(max(event_id), 0) as newest from audit_events',
        values: []
      })
      return rows[0]?.newest ?? '0'
    }
  }
}

export type AuditEntryStore = ReturnType<typeof createAuditEntryStore>

/** Each combination of filters is a separate statement, so that Postgres can plan it with the matching index. */
function conditionsOf(filter: AuditFilter, before: number) {
  const values: unknown[] = []
  const place = (value: unknown): string => `$${values.push(value) + before}`
  const { userId, clientId, event, requestId, traceId, secretId, since } = filter
  const conditions = [
    userId === undefined ? '' : `and user_id = ${place(userId)}`,
    clientId === undefined ? '' : `and client_id = ${place(clientId)}`,
    event === undefined ? '' : `and event = ${place(event)}`,
    requestId === undefined ? '' : `and request_id = ${place(requestId)}`,
    traceId === undefined ? '' : `and trace_id = ${place(traceId)}`,
    secretId === undefined ? '' : `and details->>'secretId' = ${place(secretId)}`,
    sinceCondition(since, place)
  ]
  // Postgres compares the first 63 characters of a statement name; with all filters the name must fit.
  const time = { since: since instanceof Date ? since : undefined, ago: since instanceof Date ? undefined : since }
  const ids = { user: userId, client: clientId, event, request: requestId, trace: traceId, secret: secretId }
  const name = Object.entries({ ...ids, ...time })
    .map(([key, value]) => (value === undefined ? '' : `_${key}`))
    .join('')
  return { conditions: conditions.join(' '), values, name }
}

function sinceCondition(since: AuditFilter['since'], place: (value: unknown) => string): string {
  if (since === undefined) return ''
  if (since instanceof Date) return `and occurred_at >= ${place(since)}`
  return `and occurred_at >= now() - make_interval(secs => ${place(since.secondsAgo)})`
}

function toAuditEntry(row: AuditRow): AuditEntry {
  return {
    eventId: row.event_id,
    occurredAt: row.occurred_at,
    event: row.event,
    requestId: row.request_id ?? undefined,
    traceId: row.trace_id ?? undefined,
    clientId: row.client_id ?? undefined,
    userId: row.user_id ?? undefined,
    address: row.address ?? undefined,
    details: row.details
  }
}
