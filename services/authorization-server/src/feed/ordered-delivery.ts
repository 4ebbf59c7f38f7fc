import type { GrantedAudiences } from '../storage/postgres/granted-audiences.js'
import { answerWithin } from './answer-within.js'
import type { Concerns } from './listen-session.js'
import { type Notification, type Subject, subjectOf } from './notification.js'

export type OrderedDeliveryDeps = {
  granted: GrantedAudiences
  /** Of the streams that are open now. */
  audiences(): ReadonlySet<string>
  deliver(notification: Notification, concerns: Concerns): void
}

/** Within the promise of the feed: what comes later is sent to all subscribers instead. */
const ANSWER_LIMIT_MS = 500
/** So many names are answered for well within that limit. */
const MOST_AT_ONCE = 500

/**
 * Delivers notifications in the order in which they were taken. Where one names a user or a client, Postgres is asked first
 * which audiences have grants of it, and all that comes meanwhile waits: a proof must not overtake what was committed before
 * it. The question is asked after the notification was heard, so after the commit, and it sees every grant that any answer
 * rests on which a guard may have kept. A list that the ending transaction made could miss one that was opened beside it.
 */
export function createOrderedDelivery({ granted, audiences, deliver }: OrderedDeliveryDeps) {
  let waiting: Notification[] = []
  let isDelivering = false
  let isStopped = false

  async function deliverAll(): Promise<void> {
    isDelivering = true
    while (waiting.length > 0 && !isStopped) {
      const batch = waiting.splice(0, MOST_AT_ONCE)
      const subjects = batch.map(subjectOf).filter((subject) => subject !== undefined)
      const asked = audiences()
      if (subjects.length === 0 || asked.size === 0) {
        for (const notification of batch) deliver(notification, everyAudience)
        continue
      }
      const found = await answerWithin(ANSWER_LIMIT_MS, () => granted.find(subjects, [...asked]))
      if (isStopped) return
      // Without an answer all hear of it; and what waits goes out too, instead of waiting for a question of its own.
      if (found === undefined) batch.push(...waiting.splice(0))
      for (const notification of batch)
        deliver(notification, found ? concernsBy(notification, asked, found) : everyAudience)
    }
    isDelivering = false
  }

  return {
    take(notification: Notification): void {
      waiting.push(notification)
      if (!isDelivering) void deliverAll()
    },

    /** Nothing is delivered any more. */
    stop(): void {
      isStopped = true
      waiting = []
    }
  }
}

export type OrderedDelivery = ReturnType<typeof createOrderedDelivery>

const everyAudience: Concerns = () => true

/** Withheld only from audiences that were asked about: a stream that was opened since then may have another one. */
function concernsBy(
  notification: Notification,
  asked: ReadonlySet<string>,
  found: Awaited<ReturnType<GrantedAudiences['find']>>
): Concerns {
  const subject: Subject | undefined = subjectOf(notification)
  if (subject === undefined) return everyAudience
  return (audience) => !asked.has(audience) || found.has(subject, audience)
}
