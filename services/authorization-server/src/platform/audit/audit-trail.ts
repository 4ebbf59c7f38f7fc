import { StoreUnavailable } from '@valetkey/service-kit'
import type { AuditEventRecord, AuditEventStore } from '../../storage/postgres/audit-events.js'
import { createDelayedWrite } from '../delayed-write.js'
import { eventsIn, openAuditMinute } from './audit-budget.js'
import type { AuditEvent, AuditedRequest } from './audit-event.js'

export type { AdministrationEventName, AuditEvent, AuditEventName, AuditedRequest } from './audit-event.js'

export type AuditTrail = {
  /** Writes the event to the log at once and queues it for the table. Never fails and never waits. */
  record(request: AuditedRequest, event: AuditEvent): void
  /** How many events are in the table as part of a count, and have no row of their own. */
  aggregated(): number
  /** How many events the log has and the table will never have. */
  lost(): number
  /** Writes the counts of the open minute and what is queued, and stops. */
  close(): Promise<void>
}

const BATCH_INTERVAL_MS = 250
const MINUTE_MS = 60_000
// In rows. While Postgres is away the queue must not eat the memory; the log has every event all the same.
const QUEUE_LIMIT = 10_000

/**
 * At most one statement per 250 ms and process, so that auditing costs the requests nothing. What Postgres does not take
 * while it is away waits for its return. Events that the budget (`audit-budget.ts`) gives no row are counted, and the counts
 * are written a minute after the first event of that minute.
 */
export function createAuditTrail(store: AuditEventStore, now: () => Date): AuditTrail {
  let queue: AuditEventRecord[] = []
  let minute = openAuditMinute()
  let aggregated = 0
  /** After a lost connection nobody knows whether its rows are there. */
  let someMayBeThere = false
  let overflow = 0
  let lost = 0
  let lastLog: AuditedRequest['log'] | undefined
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)
  const minuteEnd = createDelayedWrite(endMinute, MINUTE_MS)

  function enqueue(row: AuditEventRecord): void {
    background.request()
    if (queue.length < QUEUE_LIMIT) queue.push(row)
    else overflow += eventsIn([row])
  }

  async function endMinute(): Promise<void> {
    const rows = minute.countRows()
    minute = openAuditMinute()
    for (const row of rows) enqueue(row)
  }

  async function write(): Promise<void> {
    const batch = queue
    queue = []
    if (batch.length === 0) return
    try {
      await (someMayBeThere ? store.appendMissing(batch) : store.append(batch))
      someMayBeThere = false
    } catch (error) {
      if (error instanceof StoreUnavailable) putBack(batch)
      else lose(eventsIn(batch), error)
    }
    lose(overflow)
    overflow = 0
  }

  /** What came first stays. */
  function putBack(batch: AuditEventRecord[]): void {
    someMayBeThere = true
    const all = [...batch, ...queue]
    queue = all.slice(0, QUEUE_LIMIT)
    overflow += eventsIn(all.slice(QUEUE_LIMIT))
    background.request()
  }

  function lose(count: number, error?: unknown): void {
    if (count === 0) return
    lost += count
    lastLog?.error({ event: 'audit_batch_lost', count, err: error }, 'audit events are in the log only')
  }

  return {
    // Each member by its name: rest and spread allocate more (npm run bench:gates).
    record(request, { event, clientId, userId, grantId, reason, scope, secretId = request.authenticatedSecretId }) {
      const { id: requestId, ip: address, log } = request
      log.info({ event, clientId, userId, address, grantId, reason, scope, secretId }, event.replaceAll('_', ' '))
      lastLog = log
      minuteEnd.request()
      const details = { grantId, reason, scope, secretId }
      const [occurredAt, recordedAt] = [now(), performance.now()]
      const row = { occurredAt, recordedAt, event, requestId, clientId, userId, address, details }
      if (minute.allowsRow(row, request.authenticatedSecretId)) enqueue(row)
      else aggregated += 1
    },
    aggregated: () => aggregated,
    lost: () => lost,
    async close() {
      await minuteEnd.close()
      await background.close()
      // Postgres is away, and there is no later.
      lose(eventsIn(queue))
      queue = []
    }
  }
}
