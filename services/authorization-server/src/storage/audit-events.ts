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

export function createAuditEventStore(database: Database) {
  return {
    /** One statement however many there are. */
    async append(events: readonly AuditEventRecord[]): Promise<void> {
      await database.query({
        name: 'append_audit_events',
        text: `insert into audit_events (occurred_at, event, request_id, client_id, user_id, address, details)
          select * from unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::jsonb[])`,
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
  }
}

export type AuditEventStore = ReturnType<typeof createAuditEventStore>
