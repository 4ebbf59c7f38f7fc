import type { Database } from '@valetkey/service-kit'
import { defineFiltered } from './filtered-statement.js'
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
  /** Only changes by operators and by owners of apps. */
  isChange?: true | undefined
  /** What was changed: the id or name of a client, user, scope, API or operator key. */
  subject?: string | undefined
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

/** Postgres compares the first 63 characters of a statement name; with all filters the name must fit. */
const FILTERS = [
  { parameter: 'userId', name: 'user', text: 'user_id = :userId' },
  { parameter: 'clientId', name: 'client', text: 'client_id = :clientId' },
  { parameter: 'event', name: 'event', text: 'event = :event' },
  { parameter: 'requestId', name: 'request', text: 'request_id = :requestId' },
  { parameter: 'traceId', name: 'trace', text: 'trace_id = :traceId' },
  { parameter: 'secretId', name: 'secret', text: "details->>'secretId' = :secretId" },
  // As in the index audit_events_changes.
  { parameter: 'isChange', name: 'changes', text: "details ? 'actor' and :isChange::boolean" },
  {
    parameter: 'subject',
    name: 'subject',
    text: `:subject in (client_id, user_id::text, details->>'username', details->>'scope', details->>'name',
      details->>'audience', details->>'operatorKeyId')`
  },
  { parameter: 'since', name: 'since', text: 'occurred_at >= :since' },
  { parameter: 'secondsAgo', name: 'ago', text: 'occurred_at >= now() - make_interval(secs => :secondsAgo)' }
]

const AFTER = {
  parameter: 'after',
  name: 'after',
  text: '(occurred_at, event_id) < (select occurred_at, event_id from audit_events where event_id = :after::bigint)'
}

const listNewest = defineFiltered(
  'list_audit',
  [...FILTERS, AFTER],
  (conditions) => `select ${COLUMNS} from audit_events where true ${conditions}
    order by occurred_at desc, event_id desc limit :limit`
)

const listFollowing = defineFiltered(
  'list_new_audit',
  FILTERS,
  (conditions) => `select ${COLUMNS} from audit_events where event_id > :after::bigint ${conditions}
    order by event_id limit :limit`
)

/** Reads the audit table, which `audit-events.ts` and `audited.ts` write. */
export function createAuditEntryStore(database: Database) {
  return {
    /** Newest first. @param page.after id of the last event of the previous page */
    async list(filter: AuditFilter, { after, limit }: Page): Promise<AuditEntry[]> {
      const statement = listNewest({ ...valuesOf(filter), after, limit })
      return (await database.query<AuditRow>(statement)).map(toAuditEntry)
    },

    /** Oldest first, by id: to follow new events. */
    async listFrom(filter: AuditFilter, { after, limit }: { after: string; limit: number }): Promise<AuditEntry[]> {
      const statement = listFollowing({ ...valuesOf(filter), after, limit })
      return (await database.query<AuditRow>(statement)).map(toAuditEntry)
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

function valuesOf({ since, ...filter }: AuditFilter) {
  return since instanceof Date ? { ...filter, since } : { ...filter, secondsAgo: since?.secondsAgo }
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
