import type { ImportRuns } from '../../storage/import-runs.js'
import { CommandFailure } from './exit.js'
import { printable } from './printable.js'

export type PruneRequest = {
  ownerId: string
  root: Buffer
  /** Paths that could not be read: no record below them is removed. */
  unread: readonly Buffer[]
  /** Number of files that the walk found. */
  found: number
  dryRun: boolean
  confirm: (question: string) => Promise<boolean>
  stop: AbortSignal
}

const MAX_UNREAD = 10_000

/**
 * Removes the records of files below a directory that this run did not find.
 * @returns the number of removed records; with `dryRun`, of those to remove
 */
export async function pruneDirectory(request: PruneRequest, runs: ImportRuns): Promise<number> {
  const { ownerId, root, unread, found, dryRun, confirm, stop } = request
  try {
    if (unread.length > MAX_UNREAD)
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
      // Before each batch, because the confirmation may have taken long: if the lock was lost, another import may have added
      // files that this run has not seen.
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
  const result = removed === 0 ? 'nothing was removed' : `${removed} files were removed, the others were not`
  throw new CommandFailure('failed', `the connection to the database was lost; ${result}`)
}

/** Stored paths are text: invalid UTF-8 becomes a replacement character, so two paths could look the same. */
function prefixOf(root: Buffer): string {
  const text = root.toString('utf8')
  if (text.includes('\ufffd')) {
    throw new CommandFailure('failed', `${printable(root)} is not UTF-8, so its files cannot be identified reliably`)
  }
  return text === '/' ? text : `${text}/`
}
