import { StoreUnavailable } from '@valetkey/service-kit'
import type { AuditEventRecord, AuditEventStore } from '../../storage/postgres/audit-events.js'
import { createDelayedWrite } from '../delayed-write.js'
import { eventsIn, openAuditMinute } from './audit-budget.js'
import type { AuditEvent, AuditEventKinds, AuditedRequest } from './audit-event.js'

export type { AdministrationEventName, AuditEvent, AuditEventName, AuditedRequest } from './audit-event.js'

export type AuditTrail = {
  /** Writes the event to the log at once and queues it for the table. Never fails and never waits. */
  record(request: AuditedRequest, event: AuditEvent): void
  /** Number of events that the table contains only as part of a count. */
  aggregated(): number
  /** Number of events that are in the log and will never be in the table. */
  lost(): number
  /** Writes the counts of the current minute and the queue, and stops. */
  close(): Promise<void>
}

const BATCH_INTERVAL_MS = 250
const MINUTE_MS = 60_000
/** A number of rows: it limits the memory while Postgres is unavailable. The log has every event. */
const QUEUE_LIMIT = 10_000

/**
 * Audit events cost no statement per request: at most one statement per 250 ms and process (`npm run bench:gates` counts none).
 * Events wait in memory while Postgres is unavailable. Events without a row in the budget (`audit-budget.ts`) are counted, and
 * the counts are written a minute after the first event of that minute.
 * @param kinds of all events
 */
export function createAuditTrail(store: AuditEventStore, kinds: AuditEventKinds, now: () => Date): AuditTrail {
  const queue = createAuditQueue(store)
  let minute = openAuditMinute(kinds)
  let aggregated = 0
  const minuteEnd = createDelayedWrite(endMinute, MINUTE_MS)

  async function endMinute(): Promise<void> {
    const rows = minute.countRows()
    minute = openAuditMinute(kinds)
    for (const row of rows) queue.add(row)
  }

  return {
    // Each member by its name: rest and spread allocate more (npm run bench:gates).
    record(
      request,
      { event, clientId, userId, grantId, reason, scope, endsAt, chosen, secretId = request.authenticatedSecretId }
    ) {
      const { id: requestId, ip: address, log } = request
      log.info(
        { event, clientId, userId, address, grantId, reason, scope, endsAt, chosen, secretId },
        event.replaceAll('_', ' ')
      )
      queue.reportTo(log)
      minuteEnd.request()
      const details = { grantId, reason, scope, endsAt, chosen, secretId }
      const [occurredAt, recordedAt] = [now(), performance.now()]
      const traceId = request.trustedTrace?.traceId
      const row = { occurredAt, recordedAt, event, requestId, traceId, clientId, userId, address, details }
      if (minute.allowsRow(row, request.authenticatedSecretId)) queue.add(row)
      else aggregated += 1
    },
    aggregated: () => aggregated,
    lost: queue.lost,
    async close() {
      await minuteEnd.close()
      await queue.close()
    }
  }
}

/** Rows on their way to the table. */
function createAuditQueue(store: AuditEventStore) {
  let rows: AuditEventRecord[] = []
  /** After a lost connection, it is unknown whether the rows of its statement were written. */
  let mayBeWritten = false
  let overflow = 0
  let lost = 0
  let lastLog: AuditedRequest['log'] | undefined
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)

  async function write(): Promise<void> {
    const batch = rows
    rows = []
    if (batch.length === 0) return
    try {
      await (mayBeWritten ? store.appendMissing(batch) : store.append(batch))
      mayBeWritten = false
    } catch (error) {
      if (error instanceof StoreUnavailable) putBack(batch)
      else lose(eventsIn(batch), error)
    }
    lose(overflow)
    overflow = 0
  }

  /** Keeps the oldest rows. */
  function putBack(batch: AuditEventRecord[]): void {
    mayBeWritten = true
    const all = [...batch, ...rows]
    rows = all.slice(0, QUEUE_LIMIT)
    overflow += eventsIn(all.slice(QUEUE_LIMIT))
    background.request()
  }

  function lose(count: number, error?: unknown): void {
    if (count === 0) return
    lost += count
    lastLog?.error({ event: 'audit_batch_lost', count, err: error }, 'audit events are in the log only')
  }

  return {
    add(row: AuditEventRecord): void {
      background.request()
      if (rows.length < QUEUE_LIMIT) rows.push(row)
      else overflow += eventsIn([row])
    },
    /** Sets the log for lost events. */
    reportTo(log: AuditedRequest['log']): void {
      lastLog = log
    },
    lost: () => lost,
    async close(): Promise<void> {
      await background.close()
      // Postgres is unavailable, and there is no later attempt.
      lose(eventsIn(rows))
      rows = []
    }
  }
}
