import type { Database } from '@valetkey/service-kit'
import type { Page } from './page.js'

/** A row of the audit table, as it is read. */
export type AuditEntry = {
  /** A whole number, as text: it may be beyond 2^53. */
  eventId: string
  occurredAt: Date
  event: string
  requestId: string | undefined
  clientId: string | undefined
  userId: string | undefined
  address: string | undefined
  details: Readonly<Record<string, unknown>>
}

/** All that is said must hold. */
export type AuditFilter = {
  userId?: string | undefined
  clientId?: string | undefined
  event?: string | undefined
  requestId?: string | undefined
  secretId?: string | undefined
  /** A time, or how long ago by Postgres's clock. */
  since?: Date | { secondsAgo: number } | undefined
}

type AuditRow = {
  event_id: string
  occurred_at: Date
  event: string
  request_id: string | null
  client_id: string | null
  user_id: string | null
  address: string | null
  details: Record<string, unknown>
}

const COLUMNS = 'event_id, occurred_at, event, request_id, client_id, user_id, address, details'

/** The audit table for those who read it; it is written in `audit-events.ts` and `audited.ts`. */
export function createAuditEntryStore(database: Database) {
  return {
    /** The newest first; those that come after an event in that order. */
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

    /** The oldest first, by id: for whoever waits for new ones. */
    async listFrom(filter: AuditFilter, { after, limit }: { after: string; limit: number }): Promise<AuditEntry[]> {
      const { conditions, values, name } = conditionsOf(filter, 2)
      const rows = await database.query<AuditRow>({
        name: `list_new_audit${name}`,
        text: `select ${COLUMNS} from audit_events where event_id > $2::bigint ${conditions} order by event_id limit $1`,
        values: [limit, after, ...values]
      })
      return rows.map(toAuditEntry)
    },

    /** '0' where there is none. */
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

/** A statement for each kind of question, so that each goes by an index where there is one. */
function conditionsOf(filter: AuditFilter, before: number) {
  const values: unknown[] = []
  const place = (value: unknown): string => `$${values.push(value) + before}`
  const { userId, clientId, event, requestId, secretId, since } = filter
  const conditions = [
    userId === undefined ? '' : `and user_id = ${place(userId)}`,
    clientId === undefined ? '' : `and client_id = ${place(clientId)}`,
    event === undefined ? '' : `and event = ${place(event)}`,
    requestId === undefined ? '' : `and request_id = ${place(requestId)}`,
    secretId === undefined ? '' : `and details->>'secretId' = ${place(secretId)}`,
    sinceCondition(since, place)
  ]
  // Postgres tells names apart by their first 63 characters, and all filters together must fit.
  const time = { since: since instanceof Date ? since : undefined, ago: since instanceof Date ? undefined : since }
  const name = Object.entries({ user: userId, client: clientId, event, request: requestId, secret: secretId, ...time })
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
    clientId: row.client_id ?? undefined,
    userId: row.user_id ?? undefined,
    address: row.address ?? undefined,
    details: row.details
  }
}
