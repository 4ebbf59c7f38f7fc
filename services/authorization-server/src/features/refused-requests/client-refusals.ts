import { createDelayedWrite } from '../../platform/delayed-write.js'
import { addressGroup } from '../../platform/rate-limits/address-group.js'
import { openMinuteLimits } from '../../platform/rate-limits/minute-limits.js'
import type { ClientRefusal, ClientRefusalStore, NewClientRefusal } from './client-refusal-store.js'
import { shownReason } from './shown-reason.js'
import { shownRedirectUri, withoutControls } from './shown-text.js'

/**
 * The one who caused the refusal. `authenticated`: the client, with its secret or a key. `known`: anyone who knows the id of a
 * registered client. `unverified`: the same, and the id was not looked up.
 */
export type RefusalStanding = 'authenticated' | 'known' | 'unverified'

/** @property reason of the audit event @property redirectUri as it was sent */
export type RefusedRequest = Pick<ClientRefusal, 'clientId' | 'endpoint' | 'error' | 'description' | 'reason'> & {
  standing: RefusalStanding
  redirectUri?: string | undefined
}

/** What a request tells; a Fastify request has it. The address is only counted. */
type Request = { id: string; ip: string }

/** The last refused requests of each client, for its developer. */
export type ClientRefusals = {
  /** Never fails and never waits. */
  note(request: Request, refused: RefusedRequest): void
  /** Number of refusals that the limits dropped, and that the store did not take. */
  dropped(): { limit: number; store: number }
  /** Writes the rest and stops. */
  close(): Promise<void>
}

const BATCH_INTERVAL_MS = 1_000
const MINUTE_MS = 60_000
/** A limit of memory while the store stalls. */
const QUEUE_LIMIT = 1_000
const LONGEST_DESCRIPTION = 300

/** Maximum rows per minute and process: in total, of one client, and of one address group. */
const ROWS = {
  authenticated: { total: 600, perClient: 30, perAddress: undefined },
  known: { total: 300, perClient: 20, perAddress: 10 },
  unverified: { total: 60, perClient: 10, perAddress: 5 }
} as const

/** Collects refusals in memory and writes them in batches. They are lost when the store is unavailable: the audit log has them. */
export function createClientRefusals(
  store: Pick<ClientRefusalStore, 'append'>,
  monotonicNow = () => performance.now()
): ClientRefusals {
  const dropped = { limit: 0, store: 0 }
  let queue: NewClientRefusal[] = []
  let take = openMinuteLimits()
  let openedAt = monotonicNow()
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)

  async function write(): Promise<void> {
    const batch = queue
    queue = []
    if (batch.length === 0) return
    await store.append(batch).catch(() => {
      dropped.store += batch.length
    })
  }

  function allows(clientId: string, standing: RefusalStanding, address: string): boolean {
    if (monotonicNow() - openedAt >= MINUTE_MS) {
      take = openMinuteLimits()
      openedAt = monotonicNow()
    }
    const { total, perClient, perAddress } = ROWS[standing]
    return take(
      [standing, total],
      [`${standing} of ${clientId}`, perClient],
      [`${standing} at ${addressGroup(address)}`, perAddress]
    )
  }

  return {
    note({ id: requestId, ip }, { standing, reason, redirectUri, ...refused }) {
      if (!allows(refused.clientId, standing, ip)) dropped.limit += 1
      else if (queue.length >= QUEUE_LIMIT) dropped.store += 1
      else {
        queue.push({
          ...refused,
          requestId,
          reason: shownReason(reason),
          description: withoutControls(refused.description ?? '').slice(0, LONGEST_DESCRIPTION) || undefined,
          redirectUri: redirectUri === undefined ? undefined : shownRedirectUri(redirectUri),
          authenticated: standing === 'authenticated',
          recordedAt: performance.now()
        })
        background.request()
      }
    },
    dropped: () => dropped,
    close: background.close
  }
}
