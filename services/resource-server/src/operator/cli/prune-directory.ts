import type { ImportRuns, StoredPath } from '../../storage/import-runs.js'
import { CommandFailure } from './exit.js'
import { isBelow, type Place, pathInside, withSlash } from './places.js'
import { printable } from './printable.js'
import type { ResolvedPlaces } from './resolve-places.js'

export type PruneRequest = Pick<ResolvedPlaces, 'places' | 'unrooted'> & {
  ownerId: string
  directory: Buffer
  /** Paths that could not be read: no record below them is removed. */
  unread: readonly Buffer[]
  /** No file was found, and perhaps the reason is that a disk is not mounted. */
  mayBeUnmounted: boolean
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
  const { ownerId, directory, unread, mayBeUnmounted, dryRun, confirm, stop } = request
  try {
    if (unread.length > MAX_UNREAD)
      throw new CommandFailure('failed', 'too many entries could not be read; nothing was removed')
    await requireLock(runs, 0)
    const below = { ownerId, ...storedPathsOf(request) }
    const gone = await runs.countUnseen(below)
    if (gone === 0) return gone
    if (mayBeUnmounted) {
      throw new CommandFailure(
        'failed',
        `there is no file below ${printable(directory)}; perhaps a disk is not mounted. Nothing was removed. ` +
          `If its ${gone} files are gone for good, pass --gone.`
      )
    }
    if (dryRun) return gone
    if (!(await confirm(`Remove ${gone} files that are no longer below ${printable(directory)}?`))) return 0
    let removed = 0
    for (let isMore = true; isMore && !stop.aborted; ) {
      // The lock is checked before each batch, because the confirmation may have taken long: if the lock was lost, another
      // import may have added files that this run has not seen.
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

/** Each path as it is stored: inside its roots, and for files of earlier releases absolute. */
function storedPathsOf({ places, unrooted, directory, unread }: PruneRequest) {
  const within: StoredPath[] = places.map(({ rootId, prefix }) => ({ rootId, path: textOf(prefix) }))
  const unreadPaths: StoredPath[] = unread.flatMap((path) => places.flatMap((place) => unreadIn(place, path)))
  if (unrooted !== undefined) {
    const former = withSlash(unrooted)
    within.push({ rootId: undefined, path: textOf(former) })
    for (const path of unread) {
      const inside = path.equals(directory) ? Buffer.alloc(0) : pathInside(path, directory)
      unreadPaths.push({ rootId: undefined, path: Buffer.concat([former, inside]).toString('utf8') })
    }
  }
  return { within, unread: unreadPaths }
}

function unreadIn({ directory, rootId, prefix }: Place, path: Buffer): StoredPath[] {
  // A root below a directory that could not be read was not read either.
  if (path.equals(directory) || isBelow(directory, path)) return [{ rootId, path: prefix.toString('utf8') }]
  if (!isBelow(path, directory)) return []
  return [{ rootId, path: Buffer.concat([prefix, pathInside(path, directory)]).toString('utf8') }]
}

/** Stored paths are text: invalid UTF-8 becomes a replacement character, so two paths could look the same. */
function textOf(path: Buffer): string {
  const text = path.toString('utf8')
  if (text.includes('\ufffd')) {
    throw new CommandFailure('failed', `${printable(path)} is not UTF-8, so its files cannot be identified reliably`)
  }
  return text
}
