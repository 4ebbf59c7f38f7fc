import { withTimeLimit } from '@valetkey/service-kit'
import type { GrantedAudiences } from '../storage/postgres/granted-audiences.js'
import type { Concerns } from './listen-session.js'
import { type Notification, type Subject, subjectOf } from './notification.js'

/** Well below the time in which the feed must deliver an event. After this limit, the event is sent to all subscribers. */
const LOOKUP_LIMIT_MS = 500
/** Postgres looks up this many users and clients well within that limit. */
const BATCH_SIZE = 500

/**
 * Delivers notifications in the order in which they were received. For a notification about a user or client, it first reads
 * from Postgres which audiences have grants of it. Later notifications wait meanwhile: a proof must not overtake a revocation
 * that was committed before it.
 *
 * The audiences are read after the commit, so the result includes every grant that a guard may have cached. A list that was
 * made in the revoking transaction could miss a grant that was created at the same time.
 */
export function createOrderedDelivery({
  grantedAudiences,
  audiences,
  deliver
}: {
  grantedAudiences: GrantedAudiences
  /** Audiences of the open streams. */
  audiences(): ReadonlySet<string>
  deliver(notification: Notification, isAffected: Concerns): void
}) {
  let waiting: Notification[] = []
  let isDelivering = false
  let isStopped = false

  async function deliverAll(): Promise<void> {
    isDelivering = true
    while (waiting.length > 0 && !isStopped) {
      const batch = waiting.splice(0, BATCH_SIZE)
      const subjects = batch.map(subjectOf).filter((subject) => subject !== undefined)
      const candidates = audiences()
      if (subjects.length === 0 || candidates.size === 0) {
        for (const notification of batch) deliver(notification, everyAudience)
        continue
      }
      const lookup = grantedAudiences.find(subjects, [...candidates])
      const found = await withTimeLimit(LOOKUP_LIMIT_MS, lookup, () => undefined).catch(() => undefined)
      if (isStopped) return
      // Without a result, all audiences get the events, and so do the waiting ones, instead of waiting for another lookup.
      if (found === undefined) batch.push(...waiting.splice(0))
      for (const notification of batch)
        deliver(notification, found ? affectedAudiences(notification, candidates, found) : everyAudience)
    }
    isDelivering = false
  }

  return {
    take(notification: Notification): void {
      waiting.push(notification)
      if (!isDelivering) void deliverAll()
    },

    /** Delivers nothing from now on. */
    stop(): void {
      isStopped = true
      waiting = []
    }
  }
}

const everyAudience: Concerns = () => true

/** Excludes only audiences that were looked up: a stream that was opened since may have another audience. */
function affectedAudiences(
  notification: Notification,
  candidates: ReadonlySet<string>,
  found: Awaited<ReturnType<GrantedAudiences['find']>>
): Concerns {
  const subject: Subject | undefined = subjectOf(notification)
  if (subject === undefined) return everyAudience
  return (audience) => !candidates.has(audience) || found.has(subject, audience)
}
