import type { LightMyRequestResponse } from 'fastify'
import type { TestServer } from './authorization-server.js'
import { collectLog, type LogLine } from './log-lines.js'

export const idOf = (answer: LightMyRequestResponse) => String(answer.headers['x-request-id'])

/** A log, and what it says of one answer. */
export function collectAuditLog() {
  const { logger, lines } = collectLog()

  /** The security decisions in the log under the request id of an answer, without what every line has. */
  function eventsOf(answer: LightMyRequestResponse): LogLine[] {
    return lines
      .filter(({ reqId, event }) => reqId === idOf(answer) && event !== 'request')
      .map(({ level: _level, time: _time, service: _service, reqId: _id, msg: _msg, ...event }) => event)
  }

  /** How many security decisions the log has. */
  const loggedEvents = () =>
    lines.filter(({ event }) => event !== undefined && !['request', 'unreadable_request'].includes(String(event)))
      .length

  return { logger, eventsOf, loggedEvents }
}

/** Ends the open minute, and says for how many events of requests the table has a row or a count. */
export async function storedEvents({ database, deps }: TestServer): Promise<number> {
  await deps.audit.close()
  // What a test registers by itself has no request.
  const text = `select sum(coalesce((details->>'count')::int, 1))::int as count from audit_events
    where request_id is not null`
  const rows = await database.query<{ count: number }>({ name: 'test_count_audit_events', text, values: [] })
  return rows[0]?.count ?? 0
}
