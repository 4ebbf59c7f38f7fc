import { createDelayedWrite } from './delayed-write.js'

/** The times of last use of grants, sessions, secrets or resource servers. */
export type Usage = {
  /** Never fails and never waits. */
  note(id: string): void
  /** Writes the rest and stops. */
  close(): Promise<void>
}

/** Stores the times of last use by id; a time before the stored one changes nothing. */
export type UseStore = { noteUse(uses: ReadonlyMap<string, Date>): Promise<void> }

const BATCH_INTERVAL_MS = 5_000
/** Within this time, further uses of the same id are not written. */
const RESOLUTION_MS = 5 * 60_000
/** Rows in one statement. It locks them for some milliseconds, in which the grants cannot be ended or refreshed. */
const AT_ONCE = 1_000
/** A limit of memory; further ids are not recorded until the next period begins. */
const MAX_IDS = 50_000

/** Collects uses in memory and writes them in batches, so that a use costs no statement (`npm run bench:gates` counts none). */
export function createUsage(store: UseStore, now: () => Date): Usage {
  let seen = new Set<string>()
  let seenSince = now().getTime()
  let queue = new Map<string, Date>()
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)

  async function write(): Promise<void> {
    const uses = [...queue]
    queue = new Map()
    for (let start = 0; start < uses.length; start += AT_ONCE) {
      const some = new Map(uses.slice(start, start + AT_ONCE))
      // After an outage the stored time is too early until the next use.
      await store.noteUse(some).catch(() => {
        for (const id of some.keys()) seen.delete(id)
      })
    }
  }

  return {
    note(id) {
      const at = now()
      // Earlier times count as well: the first times may come from a wrong clock, before Postgres's clock was known.
      if (Math.abs(at.getTime() - seenSince) >= RESOLUTION_MS) {
        seen = new Set()
        seenSince = at.getTime()
      }
      if (seen.has(id) || seen.size >= MAX_IDS) return
      seen.add(id)
      queue.set(id, at)
      background.request()
    },
    close: background.close
  }
}
