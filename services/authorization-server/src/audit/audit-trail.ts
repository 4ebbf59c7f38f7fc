import { StoreUnavailable } from '@valetkey/service-kit'
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
  | 'operator_refused'

/** Changes that operators make. Each is written by the statement that makes the change (administration/), and not by the trail. */
export type AdministrationEventName =
  | 'operator_key_created'
  | 'operator_key_revoked'
  | 'user_created'
  | 'user_disabled'
  | 'user_enabled'
  | 'user_password_set'
  | 'user_deleted'
  | 'grant_revoked'
  | 'grants_revoked'
  | 'client_created'
  | 'client_updated'
  | 'client_disabled'
  | 'client_enabled'
  | 'client_deleted'
  | 'client_secret_rotated'
  | 'client_secret_deleted'
  | 'scope_created'
  | 'scope_updated'
  | 'scope_deleted'
  | 'resource_server_created'
  | 'resource_server_deleted'

export type AuditEvent = {
  event: AuditEventName
  clientId?: string | undefined
  userId?: string | undefined
  grantId?: string | undefined
  reason?: string | undefined
  scope?: readonly string[] | undefined
  /** Of the client secret that was shown. */
  secretId?: string | undefined
}

/** What an event takes from the request it happened in; a Fastify request fits. */
export type AuditedRequest = {
  id: string
  ip: string
  /** By which of its secrets the client proved itself, where one did. */
  provenSecretId?: string | undefined
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
}

export type AuditTrail = {
  /** Writes the event to the log at once and queues it for the table. Never fails and never waits. */
  record(request: AuditedRequest, event: AuditEvent): void
  /** How many events the log has and the table will never have. */
  lost(): number
  /** Writes what is queued and stops. */
  close(): Promise<void>
}

const BATCH_INTERVAL_MS = 250
// While Postgres is away the queue must not eat the memory; the log has every event all the same.
const QUEUE_LIMIT = 10_000

/**
 * At most one statement per 250 ms and process, so that auditing costs the requests nothing. What Postgres does not take
 * while it is away waits for its return.
 */
export function createAuditTrail(store: AuditEventStore, now: () => Date): AuditTrail {
  let queue: AuditEventRecord[] = []
  /** After a lost connection nobody knows whether its rows are there. */
  let someMayBeThere = false
  let overflow = 0
  let lost = 0
  let lastLog: AuditedRequest['log'] | undefined
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)

  async function write(): Promise<void> {
    const batch = queue
    queue = []
    if (batch.length === 0) return
    try {
      await (someMayBeThere ? store.appendMissing(batch) : store.append(batch))
      someMayBeThere = false
    } catch (error) {
      if (error instanceof StoreUnavailable) putBack(batch)
      else lose(batch.length, error)
    }
    lose(overflow)
    overflow = 0
  }

  /** What came first stays. */
  function putBack(batch: AuditEventRecord[]): void {
    someMayBeThere = true
    const all = [...batch, ...queue]
    queue = all.slice(0, QUEUE_LIMIT)
    overflow += all.length - queue.length
    background.request()
  }

  function lose(count: number, error?: unknown): void {
    if (count === 0) return
    lost += count
    lastLog?.error({ event: 'audit_batch_lost', count, err: error }, 'audit events are in the log only')
  }

  return {
    record(request, { event, clientId, userId, secretId = request.provenSecretId, ...more }) {
      const details = { ...more, ...(secretId !== undefined && { secretId }) }
      request.log.info({ event, clientId, userId, address: request.ip, ...details }, event.replaceAll('_', ' '))
      lastLog = request.log
      background.request()
      if (queue.length < QUEUE_LIMIT) {
        queue.push({ occurredAt: now(), event, requestId: request.id, clientId, userId, address: request.ip, details })
      } else {
        overflow += 1
      }
    },
    lost: () => lost,
    async close() {
      await background.close()
      // Postgres is away, and there is no later.
      lose(queue.length)
      queue = []
    }
  }
}
