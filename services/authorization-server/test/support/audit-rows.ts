import type { LightMyRequestResponse } from 'fastify'
import { idOf } from './audit-log.js'
import type { TestServer } from './authorization-server.js'

export type AuditRow = {
  event: string
  request_id: string | null
  trace_id: string | null
  client_id: string | null
  user_id: string | null
  address: string | null
  details: { reason?: string; count?: number; secretId?: string }
}

/** Ends the current minute, writes the queue, and reads the whole table, oldest row first. */
export async function auditRows({ database, deps }: Pick<TestServer, 'database' | 'deps'>): Promise<AuditRow[]> {
  await deps.audit.close()
  const text =
    'select event, request_id, trace_id, client_id, user_id, address, details from audit_events order by event_id'
  return database.query<AuditRow>({ name: 'test_audit_rows', text, values: [] })
}

/** Ends the open minute and empties the table. */
export async function clearAuditRows({ database, deps }: Pick<TestServer, 'database' | 'deps'>): Promise<void> {
  await deps.audit.close()
  await database.query({ name: 'test_clear_audit_rows', text: 'delete from audit_events', values: [] })
}

/** The number of events in the rows: a row without a count is one event. */
export const eventsIn = (rows: readonly AuditRow[]): number =>
  rows.reduce((sum, { details }) => sum + (details.count ?? 1), 0)

export const isSingle = ({ details }: AuditRow): boolean => details.count === undefined

/** The rows of the request with this response. */
export const rowsOf = (rows: readonly AuditRow[], answer: LightMyRequestResponse): AuditRow[] =>
  rows.filter(({ request_id }) => request_id === idOf(answer))
