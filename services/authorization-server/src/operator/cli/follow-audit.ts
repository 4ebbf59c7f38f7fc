import { StoreUnavailable } from '@valetkey/service-kit'
import type { AuditEntry, AuditEntryStore, AuditFilter } from '../../storage/postgres/audit-entries.js'

const AT_ONCE = 1_000

/** A row becomes visible after its id was assigned. A statement takes at most 9.5 s, so no lower id appears after this time. */
const SETTLED_AFTER_MS = 10_000

/** Maximum number of statements that may have been running at the start. */
const UNDER_WAY = 1_000n

/**
 * Shows new events until `wait` returns false.
 * @param showFirst shows the existing events and returns their ids. It is called after the newest id was read, so that no
 *   event between the two is missed.
 */
export async function followAudit(
  filter: AuditFilter,
  showFirst: () => Promise<readonly string[]>,
  {
    auditEntries,
    show,
    say,
    wait,
    monotonicNow
  }: {
    auditEntries: Pick<AuditEntryStore, 'listFrom' | 'newestId'>
    /** Called once for each new event. */
    show: (entry: AuditEntry) => void
    say: (text: string) => void
    /** Waits until the next poll; false ends following. */
    wait: () => Promise<boolean>
    monotonicNow: () => number
  }
): Promise<void> {
  const newest = await auditEntries.newestId()
  let floor = BigInt(newest) > UNDER_WAY ? BigInt(newest) - UNDER_WAY : 0n
  const there = (await listAll(floor)).filter(({ eventId }) => BigInt(eventId) <= BigInt(newest))
  const seen = new Set(there.map(({ eventId }) => eventId))
  for (const eventId of await showFirst()) seen.add(eventId)
  const polls = [{ at: monotonicNow(), newest: BigInt(newest) }]

  async function listAll(after: bigint): Promise<AuditEntry[]> {
    const all: AuditEntry[] = []
    for (let position = `${after}`; ; position = all.at(-1)?.eventId ?? position) {
      const page = await auditEntries.listFrom(filter, { after: position, limit: AT_ONCE })
      all.push(...page)
      if (page.length < AT_ONCE) return all
    }
  }

  async function poll(): Promise<void> {
    const at = monotonicNow()
    polls.push({ at, newest: BigInt(await auditEntries.newestId()) })
    for (const entry of await listAll(floor)) {
      if (!seen.has(entry.eventId)) show(entry)
      seen.add(entry.eventId)
    }
    while (polls[0] !== undefined && polls[0].at <= at - SETTLED_AFTER_MS) {
      floor = polls.shift()?.newest ?? floor
    }
    for (const id of seen) if (BigInt(id) <= floor) seen.delete(id)
  }

  let isUnavailable = false
  while (await wait()) {
    try {
      await poll()
      isUnavailable = false
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      if (!isUnavailable) say(`${error.message}; waiting until it is available again\n`)
      isUnavailable = true
    }
  }
}
