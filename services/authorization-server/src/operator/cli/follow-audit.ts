import { StoreUnavailable } from '@valetkey/service-kit'
import type { AuditEntry, AuditEntryStore, AuditFilter } from '../../storage/postgres/audit-entries.js'

export type FollowDeps = {
  entries: Pick<AuditEntryStore, 'listFrom' | 'newestId'>
  /** Gets each new entry once. */
  show: (entry: AuditEntry) => void
  say: (text: string) => void
  /** Waits until it is time to look again; false ends it. */
  wait: () => Promise<boolean>
  monotonicNow: () => number
}

const AT_ONCE = 1_000

/** Ids are given before rows can be seen, and a statement takes 9.5 s at most: after that, none comes below an id. */
const SETTLED_AFTER_MS = 10_000

/** How many statements may have been under way when it began. */
const UNDER_WAY = 1_000n

/**
 * Shows entries as they come, until it is told to stop.
 * @param showFirst shows what is there to begin with and gives the ids; called once it is known what was there before, so
 *   that what comes in between is in what it shows, or is new
 */
export async function followAudit(
  filter: AuditFilter,
  showFirst: () => Promise<readonly string[]>,
  needs: FollowDeps
): Promise<void> {
  const { entries, show, say, wait, monotonicNow } = needs
  const newest = await entries.newestId()
  let floor = BigInt(newest) > UNDER_WAY ? BigInt(newest) - UNDER_WAY : 0n
  const there = (await listAll(floor)).filter(({ eventId }) => BigInt(eventId) <= BigInt(newest))
  const seen = new Set(there.map(({ eventId }) => eventId))
  for (const eventId of await showFirst()) seen.add(eventId)
  const looks = [{ at: monotonicNow(), newest: BigInt(newest) }]

  async function listAll(after: bigint): Promise<AuditEntry[]> {
    const all: AuditEntry[] = []
    for (let place = `${after}`; ; place = all.at(-1)?.eventId ?? place) {
      const some = await entries.listFrom(filter, { after: place, limit: AT_ONCE })
      all.push(...some)
      if (some.length < AT_ONCE) return all
    }
  }

  async function look(): Promise<void> {
    const at = monotonicNow()
    looks.push({ at, newest: BigInt(await entries.newestId()) })
    for (const entry of await listAll(floor)) {
      if (!seen.has(entry.eventId)) show(entry)
      seen.add(entry.eventId)
    }
    while (looks[0] !== undefined && looks[0].at <= at - SETTLED_AFTER_MS) {
      floor = looks.shift()?.newest ?? floor
    }
    for (const id of seen) if (BigInt(id) <= floor) seen.delete(id)
  }

  let isAway = false
  while (await wait()) {
    try {
      await look()
      isAway = false
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      if (!isAway) say(`${error.message}; waiting until it is available again\n`)
      isAway = true
    }
  }
}
