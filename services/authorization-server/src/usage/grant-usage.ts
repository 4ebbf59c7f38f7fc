import { createDelayedWrite } from '../background/delayed-write.js'
import type { ConnectedAppStore } from '../storage/connected-apps.js'

/** When each grant was last used, for the people whose account it is. */
export type GrantUsage = {
  /** Never fails and never waits. */
  note(grantId: string): void
  /** Writes what is noted and stops. */
  close(): Promise<void>
}

const BATCH_INTERVAL_MS = 5_000
/** Within this time a second use of the same grant is not written again. */
const RESOLUTION_MS = 5 * 60_000
// A bound for memory: beyond it uses go unrecorded until the next period begins.
const MAX_GRANTS = 50_000

/** Gathers uses in memory and writes them in batches, so that introspection stays one statement. */
export function createGrantUsage(store: Pick<ConnectedAppStore, 'noteUse'>, now: () => Date): GrantUsage {
  let seen = new Set<string>()
  let seenSince = now().getTime()
  let queue = new Map<string, Date>()
  const background = createDelayedWrite(write, BATCH_INTERVAL_MS)

  async function write(): Promise<void> {
    const batch = queue
    queue = new Map()
    if (batch.size === 0) return
    // The page shows an earlier day after an outage; the next use is written again.
    await store.noteUse(batch).catch(() => {
      for (const grantId of batch.keys()) seen.delete(grantId)
    })
  }

  return {
    note(grantId) {
      const at = now()
      if (at.getTime() >= seenSince + RESOLUTION_MS) {
        seen = new Set()
        seenSince = at.getTime()
      }
      if (seen.has(grantId) || seen.size >= MAX_GRANTS) return
      seen.add(grantId)
      queue.set(grantId, at)
      background.request()
    },
    close: background.close
  }
}
