import { createDelayedWrite } from './delayed-write.js'

/** When each thing of a kind was last used, for people and operators who wonder whether it still is. */
export type Usage = {
  /** Never fails and never waits. */
  note(id: string): void
  /** Writes what is noted and stops. */
  close(): Promise<void>
}

/** Stores the time of the last use of each; an older one than is stored changes nothing. */
export type UseStore = { noteUse(uses: ReadonlyMap<string, Date>): Promise<void> }

const BATCH_INTERVAL_MS = 5_000
/** Within this time a second use of the same thing is not written again. */
const RESOLUTION_MS = 5 * 60_000
/** Rows that one statement holds: some milliseconds, in which nobody else can end or renew these grants. */
const AT_ONCE = 1_000
// A bound for memory: beyond it uses go unrecorded until the next period begins.
const MAX_IDS = 50_000

/** Gathers uses in memory and writes them in batches, so that noting one costs the request no statement. */
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
      // An earlier time is shown after an outage; the next use is written again.
      await store.noteUse(some).catch(() => {
        for (const id of some.keys()) seen.delete(id)
      })
    }
  }

  return {
    note(id) {
      const at = now()
      // In either direction: the time may have been that of a wrong clock until Postgres's was known.
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
