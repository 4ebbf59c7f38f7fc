import { type Database, defineStatement } from '@valetkey/service-kit'

export type AuditEventRecord = {
  occurredAt: Date
  /** The same time on the monotonic clock of this process, in milliseconds. */
  recordedAt: number
  event: string
  requestId: string | undefined
  /** 32 hexadecimal digits, if the request has a trusted trace context. */
  traceId: string | undefined
  clientId: string | undefined
  userId: string | undefined
  address: string | undefined
  details: Readonly<Record<string, unknown>>
}

// Limits the time of an event to the last 30 s plus its time in the queue: with a wrong clock of the process, retention would
// delete the event at once or keep it for years.
const EVENTS = `(
    select greatest(least(given.occurred_at, now()), now() - make_interval(secs => given.waited_ms / 1000 + 30)) as occurred_at,
      given.event, given.request_id, given.trace_id, given.client_id, given.user_id, given.address, given.details
    from unnest(:occurredAt::timestamptz[], :event::text[], :requestId::text[], :traceId::text[], :clientId::text[],
        :userId::uuid[], :address::text[], :details::jsonb[], :waitedMs::double precision[])
      as given (occurred_at, event, request_id, trace_id, client_id, user_id, address, details, waited_ms)
  ) as e`

const appendEvents = defineStatement(
  'append_audit_events',
  `insert into audit_events (occurred_at, event, request_id, trace_id, client_id, user_id, address, details)
  select e.* from ${EVENTS}`
)

const appendMissingEvents = defineStatement(
  'append_missing_audit_events',
  `insert into audit_events (occurred_at, event, request_id, trace_id, client_id, user_id, address, details)
  select e.* from ${EVENTS}
  where not exists (
    select 1 from audit_events a
    where a.occurred_at = e.occurred_at and a.request_id = e.request_id and a.event = e.event)`
)

export function createAuditEventStore(database: Database) {
  return {
    async append(events: readonly AuditEventRecord[]): Promise<void> {
      await database.query(appendEvents(valuesOf(events)))
    },

    /** Omits events that exist: a statement whose response was lost may have written some of them. */
    async appendMissing(events: readonly AuditEventRecord[]): Promise<void> {
      await database.query(appendMissingEvents(valuesOf(events)))
    }
  }
}

export type AuditEventStore = ReturnType<typeof createAuditEventStore>

/** One list for each column of `EVENTS`. */
function valuesOf(events: readonly AuditEventRecord[]) {
  return {
    occurredAt: events.map((event) => event.occurredAt),
    event: events.map((event) => event.event),
    requestId: events.map((event) => event.requestId),
    traceId: events.map((event) => event.traceId),
    clientId: events.map((event) => event.clientId),
    userId: events.map((event) => event.userId),
    address: events.map((event) => event.address),
    details: events.map((event) => JSON.stringify(event.details)),
    waitedMs: events.map((event) => performance.now() - event.recordedAt)
  }
}
