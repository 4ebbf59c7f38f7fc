import type { ImportRuns } from '../../storage/import-runs.js'
import { CommandFailure } from './exit.js'
import { printable } from './printable.js'

export type PruneRequest = {
  ownerId: string
  root: Buffer
  /** What could not be read this time: nothing below it is removed. */
  unread: readonly Buffer[]
  /** How many files the walk found. */
  found: number
  dryRun: boolean
  confirm: (question: string) => Promise<boolean>
  stop: AbortSignal
}

const MOST_UNREAD = 10_000

/**
 * Removes what was entered from below a directory and was not seen there in this run.
 * @returns how many were removed, or would be
 */
export async function pruneDirectory(request: PruneRequest, runs: ImportRuns): Promise<number> {
  const { ownerId, root, unread, found, dryRun, confirm, stop } = request
  try {
    if (unread.length > MOST_UNREAD)
      throw new CommandFailure('failed', 'too many entries could not be read; nothing was removed')
    await requireLock(runs, 0)
    const below = { ownerId, prefix: prefixOf(root), unread: unread.map((path) => path.toString('utf8')) }
    const gone = await runs.countUnseen(below)
    if (gone === 0) return gone
    if (found === 0) {
      throw new CommandFailure(
        'failed',
        `there is no file below ${printable(root)}; perhaps a disk is not mounted. Nothing was removed. ` +
          'To remove all files of a user, use "valetkey-files delete".'
      )
    }
    if (dryRun) return gone
    if (!(await confirm(`Remove ${gone} files that are no longer below ${printable(root)}?`))) return 0
    let removed = 0
    for (let isMore = true; isMore && !stop.aborted; ) {
      // Before each batch, for the question may have stood for long: without the lock, what another import has entered
      // meanwhile would be unseen.
      await requireLock(runs, removed)
      const batch = await runs.deleteUnseen(below)
      removed += batch.deleted
      isMore = batch.isMore
    }
    if (stop.aborted) throw new CommandFailure('interrupted', `interrupted after ${removed} of ${gone} were removed`)
    return removed
  } finally {
    // Temporary rows: if they cannot be deleted now, the next run deletes them.
    await runs.forgetSightings(ownerId).catch(() => {})
  }
}

async function requireLock(runs: ImportRuns, removed: number): Promise<void> {
  if (await runs.isStillLocked()) return
  const so = removed === 0 ? 'nothing was removed' : `${removed} files were removed, the others were not`
  throw new CommandFailure('failed', `the connection to the database was lost; ${so}`)
}

/** Stored paths are text: invalid UTF-8 becomes a replacement character, so two paths could look the same. */
function prefixOf(root: Buffer): string {
  const text = root.toString('utf8')
  if (text.includes('\ufffd')) {
    throw new CommandFailure('failed', `${printable(root)} is not UTF-8, so its files cannot be identified reliably`)
  }
  return text === '/' ? text : `${text}/`
}
