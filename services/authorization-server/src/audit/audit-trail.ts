import { createDelayedWrite } from '../background/delayed-write.js'
import type { AuditEventRecord, AuditEventStore } from '../storage/audit-events.js'

/** Security decisions, one event each. Names are stable: alerts and reports hang on them. */
export type AuditEventName =
  | 'sign_in_succeeded'
  | 'sign_in_failed'
  | 'signed_out'
  | 'signed_out_everywhere'
  | 'authorization_refused'
  | 'form_refused'
  | 'consent_given'
  | 'consent_denied'
  | 'consent_answer_repeated'
  | 'code_issued'
  | 'code_redeemed'
  | 'code_reused'
  | 'token_refreshed'
  | 'refresh_answer_repeated'
  | 'refresh_token_reused'
  | 'token_revoked'
  | 'grant_ended'
  | 'request_refused'

export type AuditEvent = {
  event: AuditEventName
  clientId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  reason?: string | undefined
  scope?: readonly string[] | undefined
}

/** What an event takes from the request it happened in; a Fastify request fits. */
export type AuditedRequest = {
  id: string
  ip: string
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
}

export type AuditTrail = {
  /** Writes the event to the log at once and queues it for the table. Never fails and never waits. */
  record(request: AuditedRequest, event: AuditEvent): void
  /** Writes what is queued and stops. */
  close(): Promise<void>
}

const BATCH_INTERVAL_MS = 250
// While Postgres is away the queue must not eat the memory; the log has every event all the same.
const QUEUE_LIMIT = 10_000

/** At most one statement per 250 ms and process, so that auditing costs the requests nothing. */
export function createAuditTrail(store: AuditEventStore, now: () => Date): AuditTrail {
  let queue: AuditEventRecord[] = []
  let lastLog: AuditedRequest['log'] | undefined
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)

  async function write(): Promise<void> {
    const batch = queue
    queue = []
    if (batch.length === 0) return
    try {
      await store.append(batch)
    } catch (error) {
      lastLog?.error({ event: 'audit_batch_lost', count: batch.length, err: error }, 'audit events are in the log only')
    }
  }

  return {
    record(request, { event, clientId, userId, ...details }) {
      request.log.info({ event, clientId, userId, address: request.ip, ...details }, event.replaceAll('_', ' '))
      lastLog = request.log
      if (queue.length >= QUEUE_LIMIT) return
      queue.push({ occurredAt: now(), event, requestId: request.id, clientId, userId, address: request.ip, details })
      background.request()
    },
    close: background.close
  }
}
