import type { ImportedFile } from '../../storage/file-record.js'
import type { SaveCounts } from '../../storage/files.js'
import { describeFile } from './describe-file.js'
import type { ExcludedName } from './excluded-names.js'
import { findMimeType } from './find-mime-type.js'
import { hashOfPath, identify, pathInside, withSlash } from './places.js'
import type { ResolvedPlaces } from './resolve-places.js'
import { type WalkEvent, walkDirectory } from './walk-directory.js'

export type ImportCounts = SaveCounts & {
  /** Symbolic links, sockets, pipes and devices. */
  skipped: number
  unreadable: number
}

export const NOTHING_COUNTED: ImportCounts = { imported: 0, updated: 0, unchanged: 0, skipped: 0, unreadable: 0 }

export type ImportRequest = Pick<ResolvedPlaces, 'places' | 'unrooted'> & {
  directory: Buffer
  isExcluded: ExcludedName
}

const BATCH_SIZE = 500

/** Saves a record for every regular file below a directory, in batches. */
export async function importDirectory(
  { directory, places, unrooted, isExcluded }: ImportRequest,
  {
    save,
    makeFileId,
    onSkipped,
    onProgress,
    stop
  }: {
    /** Saves a batch of records, all or none. */
    save(files: readonly ImportedFile[]): Promise<SaveCounts>
    makeFileId: () => string
    /** Called for each entry that is not imported. */
    onSkipped: (event: Exclude<WalkEvent, { kind: 'file' }>) => void
    /** Called after each entry. */
    onProgress: (path: Buffer) => void
    /** When aborted, the import saves the current batch and stops. */
    stop: AbortSignal
  }
): Promise<ImportCounts> {
  const counts = { ...NOTHING_COUNTED }
  // Files by path: a directory that changes while it is read may show an entry twice.
  const batch = new Map<string, ImportedFile>()

  async function saveBatch(): Promise<void> {
    if (batch.size === 0) return
    const saved = await save([...batch.values()])
    batch.clear()
    counts.imported += saved.imported
    counts.updated += saved.updated
    counts.unchanged += saved.unchanged
  }

  for await (const event of walkDirectory(directory, isExcluded)) {
    if (event.kind === 'file') {
      const file = describeFile(event, {
        fileId: makeFileId(),
        identity: identify(event.path, places),
        unrootedHash: unrooted && hashOfPath(Buffer.concat([withSlash(unrooted), pathInside(event.path, directory)])),
        mimeType: await findMimeType(event)
      })
      batch.set(file.sourceHash.toString('base64'), file)
      if (batch.size >= BATCH_SIZE) await saveBatch()
    } else {
      counts[event.kind] += 1
      onSkipped(event)
    }
    onProgress(event.path)
    if (stop.aborted) break
  }
  await saveBatch()
  return counts
}
