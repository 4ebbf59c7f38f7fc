import { randomBytes } from 'node:crypto'
import type { ImportedFile } from '../../storage/file-record.js'
import { createFileStore } from '../../storage/files.js'
import { createImportRoots } from '../../storage/import-roots.js'
import type { ImportRuns } from '../../storage/import-runs.js'
import type { CommandDeps } from './command-deps.js'
import type { ExcludedName } from './excluded-names.js'
import { CommandFailure } from './exit.js'
import { makeFileId } from './file-id.js'
import { type ImportCounts, importDirectory, NOTHING_COUNTED } from './import-directory.js'
import { printable } from './printable.js'
import { showProgress } from './progress-bar.js'
import { pruneDirectory } from './prune-directory.js'
import type { ResolvedDirectory } from './resolve-directory.js'
import { placesOfGone, type ResolvedPlaces, resolvePlaces } from './resolve-places.js'

export type RecordFilesRequest = ResolvedDirectory & {
  ownerId: string
  isExcluded: ExcludedName
  prune: boolean
  /** Prunes also if there is no file. */
  removeAll: boolean
  dryRun: boolean
  confirm: CommandDeps['confirm']
}

type Recorded = { counts: ImportCounts; pruned: number | undefined }

const newId = (): string => makeFileId(new Date(), randomBytes)

/** Saves the files of a directory, and prunes if requested. The caller holds the lock of the user's files. */
export async function recordFiles(
  request: RecordFilesRequest,
  context: CommandDeps,
  runs: ImportRuns
): Promise<Recorded> {
  const { ownerId, directory, gone, prune, removeAll, dryRun, confirm } = request
  if (prune) await runs.forgetSightings(ownerId)
  const stop = context.untilInterrupted()
  const resolved = await findPlaces(request, context)
  const { counts, unread } =
    gone === undefined
      ? await walk(request, resolved, { context, runs, stop })
      : { counts: NOTHING_COUNTED, unread: [] }
  if (stop.aborted) {
    throw new CommandFailure(
      'interrupted',
      `interrupted after ${summaryOf(counts)}; run the same command again to continue`
    )
  }
  if (!prune || confirm === undefined) return { counts, pruned: undefined }
  const isEmpty = counts.imported + counts.updated + counts.unchanged === 0
  const mayBeUnmounted = !removeAll && (gone === undefined ? isEmpty : gone.mayBeUnmounted)
  const pruning = { ...resolved, ownerId, directory, unread, mayBeUnmounted, dryRun, confirm, stop }
  return { counts, pruned: await pruneDirectory(pruning, runs) }
}

async function findPlaces({ ownerId, directory, gone, dryRun }: RecordFilesRequest, context: CommandDeps) {
  const roots = createImportRoots(context.database())
  if (gone !== undefined) {
    context.say(`${printable(directory)} does not exist\n`)
    return { places: await placesOfGone(ownerId, directory, roots), unrooted: directory }
  }
  const resolved = await resolvePlaces(ownerId, directory, { roots, makeRootId: newId, dryRun })
  const { movedFrom } = resolved
  if (movedFrom !== undefined) {
    context.say(`the files of ${printable(movedFrom)} are now found in ${printable(directory)}\n`)
  }
  return resolved
}

type Run = { context: CommandDeps; runs: ImportRuns; stop: AbortSignal }

async function walk(
  { ownerId, directory, isExcluded, prune, dryRun }: RecordFilesRequest,
  { places, unrooted }: Pick<ResolvedPlaces, 'places' | 'unrooted'>,
  { context, runs, stop }: Run
): Promise<{ counts: ImportCounts; unread: Buffer[] }> {
  const files = createFileStore(context.database())
  const bar = showProgress(context, directory, isExcluded)
  const unread: Buffer[] = []
  async function save(batch: readonly ImportedFile[]) {
    const saved = dryRun ? await files.compare(ownerId, batch) : await files.save(ownerId, batch)
    const seen = batch.map(({ sourceHash }) => sourceHash)
    // A dry run leaves files of earlier releases as they are.
    const unmoved = dryRun ? batch.flatMap(({ unrootedHash }) => unrootedHash ?? []) : []
    if (prune) await runs.noteSightings(ownerId, [...seen, ...unmoved])
    return saved
  }
  const counts = await importDirectory(
    { directory, places, unrooted, isExcluded },
    {
      save,
      makeFileId: newId,
      onSkipped({ kind, path, reason }) {
        if (kind === 'unreadable') unread.push(path)
        bar.clear()
        context.say(`${kind}: ${printable(path)} (${reason})\n`)
      },
      onProgress: bar.advance,
      stop
    }
    // The bar also stops after a failure: otherwise the line remains, and the process cannot end before the count does.
  ).finally(bar.stop)
  return { counts, unread }
}

export function summaryOf({ imported, updated, unchanged, skipped, unreadable }: ImportCounts): string {
  const failed = unreadable > 0 ? `, ${unreadable} unreadable` : ''
  return `${imported} imported, ${updated} updated, ${unchanged} unchanged, ${skipped} skipped${failed}`
}
