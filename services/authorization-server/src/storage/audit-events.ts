import type { Database } from '@valetkey/service-kit'

export type AuditEventRecord = {
  occurredAt: Date
  event: string
  requestId: string | undefined
  clientId: string | undefined
  userId: string | undefined
  address: string | undefined
  details: Readonly<Record<string, unknown>>
}

const EVENTS = `unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::jsonb[])
  as e (occurred_at, event, request_id, client_id, user_id, address, details)`

export function createAuditEventStore(database: Database) {
  async function insert(name: string, condition: string, events: readonly AuditEventRecord[]): Promise<void> {
    await database.query({
      name,
      text: `insert into audit_events (occurred_at, event, request_id, client_id, user_id, address, details)
        select * from ${EVENTS} ${condition}`,
      values: [
        events.map((event) => event.occurredAt),
        events.map((event) => event.event),
        events.map((event) => event.requestId),
        events.map((event) => event.clientId),
        events.map((event) => event.userId),
        events.map((event) => event.address),
        events.map((event) => JSON.stringify(event.details))
      ]
    })
  }

  return {
    /** One statement however many there are. */
    append: (events: readonly AuditEventRecord[]) => insert('append_audit_events', '', events),

    /** The same for events of which some may have been written by a statement whose answer was lost. */
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
