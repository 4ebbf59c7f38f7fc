import type { Database } from '@valetkey/service-kit'

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
    from unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::jsonb[],
        $9::double precision[])
      as given (occurred_at, event, request_id, trace_id, client_id, user_id, address, details, waited_ms)
  ) as e`

export function createAuditEventStore(database: Database) {
  async function insert(name: string, condition: string, events: readonly AuditEventRecord[]): Promise<void> {
    await database.query({
      name,
      text: `insert into audit_events (occurred_at, event, request_id, trace_id, client_id, user_id, address, details)
        select e.* from ${EVENTS} ${condition}`,
      values: [
        events.map((event) => event.occurredAt),
        events.map((event) => event.event),
        events.map((event) => event.requestId),
        events.map((event) => event.traceId),
        events.map((event) => event.clientId),
        events.map((event) => event.userId),
        events.map((event) => event.address),
        events.map((event) => JSON.stringify(event.details)),
        events.map((event) => performance.now() - event.recordedAt)
      ]
    })
  }

  return {
    append: (events: readonly AuditEventRecord[]) => insert('append_audit_events', '', events),

    /** Omits events that exist: a statement whose response was lost may have written some of them. */
    appendMissing: (events: readonly AuditEventRecord[]) =>
      insert(
        'append_missing_audit_events',
        `where not exists (
          select 1 from audit_events a
          where a.occurred_at = e.occurred_at and a.request_id = e.request_id and a.event = e.event)`,
        events
      )
  }
}

export type AuditEventStore = ReturnType<typeof createAuditEventStore>
