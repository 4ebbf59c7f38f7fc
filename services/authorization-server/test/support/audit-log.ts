import type { LightMyRequestResponse } from 'fastify'
import type { TestServer } from './authorization-server.js'
import { collectLog, type LogLine } from './log-lines.js'

export const idOf = (answer: LightMyRequestResponse) => String(answer.headers['x-request-id'])

/** A log, and its events for a response. */
export function collectAuditLog() {
  const { logger, lines } = collectLog()

  /** The security decisions of the request with this response, without the members that every line has. */
  function eventsOf(answer: LightMyRequestResponse): LogLine[] {
    return lines
      .filter(({ reqId, event }) => reqId === idOf(answer) && event !== 'request')
      .map(({ level: _level, time: _time, service: _service, reqId: _id, msg: _msg, ...event }) => event)
  }

  /** The number of security decisions in the log. */
  const loggedEvents = () =>
    lines.filter(({ event }) => event !== undefined && !['request', 'unreadable_request'].includes(String(event)))
      .length

  return { logger, eventsOf, loggedEvents }
}

/** Ends the current minute, and returns the number of request events that the table has as rows or in counts. */
export async function storedEvents({ database, deps }: TestServer): Promise<number> {
  await deps.audit.close()
  // Registrations by the test have no request.
  const text = `select sum(coalesce((details->>'count')::int, 1))::int as count from audit_events
    where request_id is not null`
  const rows = await database.query<{ count: number }>({ name: 'test_count_audit_events', text, values: [] })
  return rows[0]?.count ?? 0
}
