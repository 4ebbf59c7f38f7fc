import type { ImportedFile } from '../storage/file-record.js'
import type { FileStore, SaveCounts } from '../storage/files.js'
import { describeFile } from './describe-file.js'
import { type WalkEvent, walkDirectory } from './walk-directory.js'

export type ImportCounts = SaveCounts & {
  /** Symbolic links, sockets and the like. */
  skipped: number
  unreadable: number
}

export type ImportNeeds = {
  files: Pick<FileStore, 'save'>
  makeFileId: () => string
  /** Hears of every entry that is left out. */
  onLeftOut: (event: Exclude<WalkEvent, { kind: 'file' }>) => void
  /** Hears how far it has come, after every batch. */
  onProgress: (counts: ImportCounts) => void
}

const BATCH_SIZE = 500

/** Enters every regular file below a directory into the books of a user, in batches that are written whole or not at all. */
export async function importDirectory(
  request: { ownerId: string; directory: Buffer; excluded: readonly string[] },
  { files, makeFileId, onLeftOut, onProgress }: ImportNeeds
): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: 0, updated: 0, unchanged: 0, skipped: 0, unreadable: 0 }
  // By path: a directory that changes while it is read may show an entry twice.
  const batch = new Map<string, ImportedFile>()

  async function save(): Promise<void> {
    if (batch.size === 0) return
    const saved = await files.save(request.ownerId, [...batch.values()])
    batch.clear()
    counts.imported += saved.imported
    counts.updated += saved.updated
    counts.unchanged += saved.unchanged
    onProgress(counts)
  }

  for await (const event of walkDirectory(request.directory, request.excluded)) {
    if (event.kind === 'file') {
      const file = describeFile(event, makeFileId())
      batch.set(file.sourceDigest.toString('base64'), file)
      if (batch.size >= BATCH_SIZE) await save()
    } else {
      counts[event.kind] += 1
      onLeftOut(event)
    }
  }
  await save()
  return counts
}
